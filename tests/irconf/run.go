package irconf

import "github.com/gokiln/kiln/runtime"

// Run launches fn, which c was compiled to, and returns the contents of its
// buffers afterwards.
func Run(dev *runtime.Device, fn *runtime.Function, c Case) ([][]byte, error) {
	bufs := make([]runtime.Slice[byte], len(c.Bufs))
	for i, b := range c.Bufs {
		var err error
		if bufs[i], err = runtime.From(dev, b); err != nil {
			return nil, err
		}
		defer bufs[i].Free()
	}
	args := c.Pack(func(i int) uint64 { return bufs[i].Addr() })
	grid := runtime.Grid{Blocks: dim(c.Grid), Threads: dim(c.Block)}
	if err := dev.DefaultStream().Launch(fn, grid, 0, args); err != nil {
		return nil, err
	}
	got := make([][]byte, len(bufs))
	for i := range bufs {
		var err error
		if got[i], err = bufs[i].Host(); err != nil {
			return nil, err
		}
	}
	return got, nil
}

func dim(d [3]int) runtime.Dim3 { return runtime.Dim3{X: d[0], Y: d[1], Z: d[2]} }
