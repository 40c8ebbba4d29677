package driver

import "errors"

// Op is one operation of a graph: a launch, a fill or a copy.
type Op struct {
	// After lists the operations that must be done before this one begins, by
	// their index in the graph. All of them stand before it.
	After []int

	Kernel Function // of a launch; nil for a fill or a copy
	Launch Launch

	Fill     bool // with Value, of Width bytes at Dst
	Value    byte
	Dst, Src Addr
	Width    int64 // bytes of a row
	Rows     int64 // of a copy; 1 or more
	DstPitch int64 // from one row to the next; means nothing where there is one row
	SrcPitch int64
}

// Graph is a list of operations that a device runs by one launch. Its
// methods are called by one goroutine at a time.
type Graph interface {
	// Launch submits all operations to a stream. To launch kernels takes no memory
	// of Go.
	Launch(Stream) error
	// Close gives the graph up. What was launched before still ends.
	Close() error
}

// Grapher is a [Device] that runs graphs natively. It may keep the
// operations. What it cannot run is an error that is [errors.ErrUnsupported].
type Grapher interface {
	NewGraph(ops []Op) (Graph, error)
}

// NewGraph makes a native graph of the device. Where there is none the
// graph submits its operations one after the other.
func NewGraph(d Device, ops []Op) (Graph, error) {
	if own, ok := d.(Grapher); ok {
		g, err := own.NewGraph(ops)
		if !errors.Is(err, errors.ErrUnsupported) {
			return g, err
		}
	}
	return replay(ops), nil
}

// replay is the graph of a device that has none: the order of the list is one
// that the operations may have.
type replay []Op

// Numbered is a Graph that submits its operations one by one, with the number of its launch.
type Numbered interface {
	LaunchAs(s Stream, seq uint64) error
}

// Launch submits the operations. Unlike a graph of a vendor it may end in the
// middle, where one of them is refused.
func (r replay) Launch(s Stream) error { return r.LaunchAs(s, 0) }

// LaunchAs is Launch with a number for [Launch.Seq].
func (r replay) LaunchAs(s Stream, seq uint64) error {
	for i := range r {
		r[i].Launch.Seq = seq
		if err := r[i].submit(s); err != nil {
			return err
		}
	}
	return nil
}

// Close has nothing to give back.
func (replay) Close() error { return nil }

// submit submits the operation alone.
func (o *Op) submit(s Stream) error {
	switch {
	case o.Kernel != nil:
		return s.Launch(o.Kernel, &o.Launch)
	case o.Fill:
		return s.Fill(o.Dst, o.Value, o.Width)
	case o.Rows == 1:
		return s.Copy(o.Dst, o.Src, o.Width)
	}
	return s.Copy2D(o.Dst, o.DstPitch, o.Src, o.SrcPitch, o.Width, o.Rows)
}
