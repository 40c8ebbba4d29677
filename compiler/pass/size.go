package pass

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// LengthError is a call of dsl.SharedSlice, dsl.LocalSlice, dsl.LaunchBounds or
// dsl.CopyWaitGroups with a number that is not known, or of no use. Errors of the pass size join one for each such call.
type LengthError struct {
	Pos int // index into the module's positions
	Msg string
	Fix string // the way out, if it is not the general one
}

func (e *LengthError) Error() string { return e.Msg }

// LengthErrors returns the length errors that err consists of, nil if it is
// some other error.
func LengthErrors(err error) (list []*LengthError) {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return nil
	}
	for _, e := range joined.Unwrap() {
		var l *LengthError
		if errors.As(e, &l) {
			list = append(list, l)
		}
	}
	return list
}

// maxObject bounds the size of one array, in bytes.
const maxObject = 1 << 30

// size gives the arrays whose length is a compile-time value their types, and the module
// its launch bounds. These numbers are constants of the kernel by then, possibly behind arithmetic,
// branches and structs, which is why functions that have such calls are folded
// here, whatever passes are turned off.
func size(m *ir.Module, _ *Options) error {
	s := sizer{m: m, shared: map[sharedSize]uint64{}, first: make([]bool, len(m.Shared))}
	for _, f := range m.Funcs {
		if !hasSized(f) {
			continue
		}
		fold(f)
		sroa(f)
		fold(f)
		s.function(f)
	}
	if len(s.errs) == 0 {
		s.dynamicLast()
	}
	return errors.Join(s.errs...)
}

func hasSized(f *ir.Func) bool {
	for _, b := range f.Blocks {
		for _, v := range b.Instrs {
			if isSized(v.Op) {
				return true
			}
		}
	}
	return false
}

func isSized(op ir.Op) bool {
	return op == ir.OpLocalSized || op == ir.OpSharedSized || op == ir.OpLaunch || op == ir.OpCluster || op == ir.OpCopyGroups
}

// sharedSize names a shared object of a length: one call in the source may be
// made with several, in copies of the function around it.
type sharedSize struct {
	object uint64
	n      uint64
}

type sizer struct {
	m      *ir.Module
	f      *ir.Func
	shared map[sharedSize]uint64
	first  []bool     // objects that have got a length
	sized  *ir.Object // whose length is a parameter, nil if none is
	locals []*ir.Value
	base   map[*ir.Value]*ir.Value // pointer to the first element -> pointer to the array
	errs   []error
}

func (s *sizer) function(f *ir.Func) {
	s.f, s.locals, s.base = f, nil, map[*ir.Value]*ir.Value{}
	for _, b := range f.Blocks {
		out := make([]*ir.Value, 0, len(b.Instrs))
		for _, v := range b.Instrs {
			switch v.Op {
			case ir.OpLaunch:
				s.launch(v)
				continue
			case ir.OpCluster:
				s.cluster(v)
				continue
			case ir.OpCopyGroups:
				s.groups(v)
			case ir.OpLocalSized, ir.OpSharedSized:
				out = s.array(out, v)
			}
			out = append(out, v)
		}
		b.Instrs = out
	}
	entry := f.Blocks[0]
	entry.Instrs = append(s.locals, entry.Instrs...)
	s.direct()
}

// maxLaunch bounds the threads of a block and the blocks of a unit.
const maxLaunch = 1 << 16

// maxGroups bounds the groups of copies that go on.
const maxGroups = 1024

// launch takes the bounds that v says.
func (s *sizer) launch(v *ir.Value) {
	threads, blocks := v.Args[0], v.Args[1]
	b := ir.Bounds{Threads: int(threads.Imm), Blocks: int(blocks.Imm)}
	switch {
	case !threads.IsConst() || !blocks.IsConst():
		s.fail(v, "numbers of dsl.LaunchBounds are not known at compile time")
	case b.Threads < 1 || b.Threads > maxLaunch:
		s.fail(v, "dsl.LaunchBounds of blocks of %d threads", b.Threads)
	case b.Blocks < 0 || b.Blocks > maxLaunch:
		s.fail(v, "dsl.LaunchBounds of %d blocks", b.Blocks)
	case s.m.Launch.Threads != 0 && (s.m.Launch.Threads != b.Threads || s.m.Launch.Blocks != b.Blocks):
		s.fail(v, "dsl.LaunchBounds of %d threads and %d blocks, and elsewhere in the kernel of %d and %d", b.Threads, b.Blocks, s.m.Launch.Threads, s.m.Launch.Blocks)
	case s.m.Launch.Threads == 0:
		b.Pos, b.Cluster = v.Pos, s.m.Launch.Cluster
		s.m.Launch = b
	}
}

// cluster takes the size of clusters that v says.
func (s *sizer) cluster(v *ir.Value) {
	n, l := v.Args[0], &s.m.Launch
	switch size := int64(n.Imm); {
	case !n.IsConst():
		s.fail(v, "number of dsl.Cluster is not known at compile time")
	case size < 1 || size > ir.MaxCluster:
		s.fail(v, "dsl.Cluster of %d blocks", size).Fix = "pass a number from 1 to 8, which all devices with clusters have"
	case l.Cluster != 0 && int64(l.Cluster) != size:
		s.fail(v, "dsl.Cluster of %d blocks, and elsewhere in the kernel of %d", size, l.Cluster)
	case size > 1:
		l.Cluster = int(size)
		if l.Pos == 0 {
			l.Pos = v.Pos
		}
	}
}

// groups checks the number of groups that v does not wait for.
func (s *sizer) groups(v *ir.Value) {
	n := v.Args[0]
	switch {
	case !n.IsConst():
		s.fail(v, "number of groups of dsl.CopyWaitGroups is not known at compile time").Fix = "make it of parameters of type dsl.ConstInt and constants; a pipeline makes empty groups at its end, so that the number stays"
	case int64(n.Imm) < 0 || n.Imm > maxGroups:
		s.fail(v, "dsl.CopyWaitGroups of %d groups", int64(n.Imm)).Fix = "pass a number from 0 to 1024"
	}
}

// array puts in front of v what makes its array, and turns v into the address
// of the first element.
func (s *sizer) array(out []*ir.Value, v *ir.Value) []*ir.Value {
	if v.Op == ir.OpSharedSized && s.m.Shared[v.Imm].Dynamic && !v.Args[0].IsConst() {
		return s.dynamic(out, v)
	}
	n, ok := s.length(v)
	if !ok {
		return out
	}
	add := func(op ir.Op, t *ir.Type, args ...*ir.Value) *ir.Value {
		w := s.f.NewValue(op, t, args...)
		w.Pos, w.Block = v.Pos, v.Block
		out = append(out, w)
		return w
	}
	array := ir.PtrTo(v.Type.Space, ir.ArrayOf(int(n), v.Type.Elem))
	var p *ir.Value
	if v.Op == ir.OpSharedSized {
		p = add(ir.OpShared, array)
		p.Imm = s.object(v.Imm, n, array.Elem)
	} else {
		p = s.f.NewValue(ir.OpLocal, array)
		p.Pos, p.Block = v.Pos, s.f.Blocks[0]
		s.locals = append(s.locals, p)
		add(ir.OpZero, ir.Void, p)
	}
	become(v, ir.OpIndex, v.Type, p, add(ir.OpConst, ir.I64))
	s.base[v] = p
	return out
}

// dynamic makes v the address of the first element of the array whose length is a parameter.
func (s *sizer) dynamic(out []*ir.Value, v *ir.Value) []*ir.Value {
	n := v.Args[0]
	for n.Op == ir.OpConvert && n.Args[0].Type.IsInt() && n.Args[0].Type.Size() <= n.Type.Size() {
		n = n.Args[0] // a length that a launch takes is the same number in both types
	}
	o := s.m.Shared[v.Imm]
	switch {
	case n.Op != ir.OpParam || !scalarParam(s.f, n):
		s.fail(v, "length of dsl.DynamicShared is no parameter of the kernel").Fix = "pass the length as a parameter of its own, of an integer type"
		return out
	case s.sized != nil && (s.sized != o || o.Param != int(n.Imm)):
		s.fail(v, "second array of dsl.DynamicShared in the kernel").Fix = "use parts of one array"
		return out
	}
	s.sized, o.Param, o.Type = o, int(n.Imm), ir.ArrayOf(0, v.Type.Elem)
	p := s.f.NewValue(ir.OpShared, ir.PtrTo(ir.Shared, o.Type))
	p.Pos, p.Block, p.Imm = v.Pos, v.Block, v.Imm
	zero := s.f.NewValue(ir.OpConst, ir.I64)
	zero.Pos, zero.Block = v.Pos, v.Block
	become(v, ir.OpIndex, v.Type, p, zero)
	return append(out, p, zero)
}

// scalarParam reports whether p is an integer parameter of the kernel by itself: its length is
// none of a slice.
func scalarParam(f *ir.Func, p *ir.Value) bool {
	at := 0
	for _, a := range f.Args {
		if at == int(p.Imm) {
			return a.Kind == ir.ArgScalar && p.Type.IsInt()
		}
		at += a.NumParams()
	}
	return false
}

// dynamicLast makes the array whose length is a parameter the last object, behind which memory may
// go on; one whose length has come out as a constant is like any other.
func (s *sizer) dynamicLast() {
	for _, o := range s.m.Shared {
		o.Dynamic = o == s.sized
	}
	last := len(s.m.Shared) - 1
	at := slices.Index(s.m.Shared, s.sized)
	if at < 0 || at == last {
		return
	}
	s.m.Shared[at], s.m.Shared[last] = s.m.Shared[last], s.m.Shared[at]
	for _, f := range s.m.Funcs {
		for _, b := range f.Blocks {
			for _, v := range b.Instrs {
				switch {
				case v.Op != ir.OpShared:
				case v.Imm == uint64(at):
					v.Imm = uint64(last)
				case v.Imm == uint64(last):
					v.Imm = uint64(at)
				}
			}
		}
	}
}

// length returns the number of elements that v makes.
func (s *sizer) length(v *ir.Value) (n uint64, ok bool) {
	what := "dsl.SharedSlice"
	switch {
	case v.Op == ir.OpLocalSized:
		what = "dsl.LocalSlice"
	case s.m.Shared[v.Imm].Dynamic:
		what = "dsl.DynamicShared"
	}
	x, size := v.Args[0], int64(max(v.Type.Elem.Size(), 1))
	switch {
	case !x.IsConst():
		s.fail(v, "length of %s is not known at compile time", what)
	case int64(x.Imm) < 0:
		s.fail(v, "%s of a negative length, %d", what, int64(x.Imm)).Fix = "see to it that the compile-time values which a launch can pass give no negative length; a comment //kiln:const says which ones the kernel is checked with"
	case int64(x.Imm) > maxObject/size:
		s.fail(v, "%s of %d elements is too large", what, x.Imm).Fix = "use fewer elements: what one block or one thread has room for is far less than 1 GiB"
	default:
		return x.Imm, true
	}
	return 0, false
}

func (s *sizer) fail(v *ir.Value, format string, args ...any) *LengthError {
	e := &LengthError{Pos: v.Pos, Msg: fmt.Sprintf(format, args...)}
	s.errs = append(s.errs, e)
	return e
}

// object returns the shared object for n elements. The first length that a call
// is made with takes the object that stands for the call.
func (s *sizer) object(object, n uint64, t *ir.Type) uint64 {
	key := sharedSize{object, n}
	if i, ok := s.shared[key]; ok {
		return i
	}
	i := object
	if s.first[object] {
		i = uint64(len(s.m.Shared))
		s.m.Shared = append(s.m.Shared, &ir.Object{Name: s.m.Shared[object].Name})
	} else {
		s.first[object] = true
	}
	s.m.Shared[i].Type = t
	s.shared[key] = i
	return i
}

// direct lets elements be addressed from their array, as those of ordinary
// arrays are: sroa looks for constant indices of arrays.
func (s *sizer) direct() {
	for _, b := range s.f.Blocks {
		for _, v := range b.Instrs {
			if v.Op == ir.OpOffset && s.base[v.Args[0]] != nil {
				v.Op, v.Args[0] = ir.OpIndex, s.base[v.Args[0]]
			}
		}
	}
}
