package ir

// The argument block of a kernel holds its arguments in order, each at its
// natural alignment: a scalar as it is, a slice as an address and a length of
// eight bytes each, a struct or array as Go lays it out, so that the launcher
// copies its bytes. Arguments fixed at compile time take no room.

// BlockAlign divides the size of every argument block that is launched: blocks
// are padded, because NVIDIA's driver copies them by words.
const BlockAlign = 8

// What the launches of a small variant keep to, so that most indices have 32
// bits: a length plus a stride of the grid does.
const (
	SmallLen     = 1 << 30 // slices are shorter, and arguments of type int less, of either sign
	SmallBlocks  = 1 << 22 // blocks along an axis, at most
	SmallThreads = 1 << 28 // threads of the grid along an axis, at most
)

// Layout returns where each argument begins in the argument block, and the
// size of the block before it is padded.
func Layout(args []Arg) (offsets []int, size int) {
	offsets = make([]int, len(args))
	for i, a := range args {
		align, n := a.Elem.align, a.Elem.size
		switch a.Kind {
		case ArgSlice:
			align, n = 8, 16
		case ArgConst:
			align, n = 1, 0
		}
		size = alignUp(size, align)
		offsets[i] = size
		size += n
	}
	return offsets, size
}

// ParamOffsets returns where each parameter of the kernel f lies in the
// argument block, and the size of the block.
func (f *Func) ParamOffsets() (offsets []int, size int) {
	at, size := Layout(f.Args)
	offsets = make([]int, 0, len(f.Params))
	for i, a := range f.Args {
		switch a.Kind {
		case ArgScalar:
			offsets = append(offsets, at[i])
		case ArgSlice:
			offsets = append(offsets, at[i], at[i]+8)
		case ArgStruct:
			a.Elem.EachLeaf(func(off int, _ *Type) { offsets = append(offsets, at[i]+off) })
		}
	}
	return offsets, size
}

// EachLeaf calls yield for every scalar that a value of type t consists of, in
// order, with its offset in bytes.
func (t *Type) EachLeaf(yield func(offset int, t *Type)) { t.eachLeaf(0, yield) }

func (t *Type) eachLeaf(at int, yield func(int, *Type)) {
	switch t.Kind {
	case KStruct:
		for i, f := range t.Elems {
			f.eachLeaf(at+t.offs[i], yield)
		}
	case KArray:
		for i := range t.Len {
			t.Elem.eachLeaf(at+i*t.Elem.size, yield)
		}
	default:
		yield(at, t)
	}
}

// NumParams returns how many parameters the argument takes.
func (a Arg) NumParams() int { return len(a.params()) }

// params returns the types of the parameters that the argument takes.
func (a Arg) params() (types []*Type) {
	switch a.Kind {
	case ArgScalar:
		return []*Type{a.Elem}
	case ArgSlice:
		return []*Type{PtrTo(Global, a.Elem), I64}
	case ArgStruct:
		a.Elem.EachLeaf(func(_ int, t *Type) { types = append(types, t) })
	}
	return types
}
