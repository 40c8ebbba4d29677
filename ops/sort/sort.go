package sort

import (
	"fmt"
	"math"
	"math/bits"
	"reflect"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	core "github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	rowsops "github.com/gokiln/kiln/ops/rows"
	rowskernels "github.com/gokiln/kiln/ops/rows/kernels"
	"github.com/gokiln/kiln/ops/sort/kernels"
	"github.com/gokiln/kiln/runtime"
)

// sortKey says how elements of a type are sorted: by which bits of which key.
type sortKey struct {
	fn, back  *jit.Fn      // the key of an element, and the element of a key
	typ       reflect.Type // of the key
	from, end int          // the bits that differ
	bare      bool         // equal keys are those of equal elements
}

// sortKeys has the key of each type. Numbers of fewer bits leave the low bits of the
// float32 that is their key 0.
var sortKeys = [32]sortKey{
	dtype.U8:     {jit.Func(kernels.KeyUint[uint8]), jit.Func(kernels.BackUint[uint8]), ops.Uint32Type, 0, 8, true},
	dtype.U32:    {jit.Func(kernels.KeyUint[uint32]), jit.Func(kernels.BackUint[uint32]), ops.Uint32Type, 0, 32, true},
	dtype.I8:     {jit.Func(kernels.KeyByte), jit.Func(kernels.BackByte), ops.Uint32Type, 0, 8, true},
	dtype.I16:    {jit.Func(kernels.KeyShort), jit.Func(kernels.BackShort), ops.Uint32Type, 0, 16, true},
	dtype.I32:    {jit.Func(kernels.KeyInt), jit.Func(kernels.BackInt), ops.Uint32Type, 0, 32, true},
	dtype.I64:    {jit.Func(kernels.KeyLong), jit.Func(kernels.BackLong), ops.Uint64Type, 0, 64, true},
	dtype.BF16:   {jit.Func(kernels.KeyFloat[dsl.BF16]), jit.Func(kernels.BackFloat[dsl.BF16]), ops.Uint32Type, 16, 32, false},
	dtype.F16:    {jit.Func(kernels.KeyFloat[dsl.F16]), jit.Func(kernels.BackFloat[dsl.F16]), ops.Uint32Type, 8, 32, false},
	dtype.F32:    {jit.Func(kernels.KeyFloat[float32]), jit.Func(kernels.BackFloat[float32]), ops.Uint32Type, 0, 32, false},
	dtype.F64:    {jit.Func(kernels.KeyDouble), jit.Func(kernels.BackDouble), ops.Uint64Type, 0, 64, false},
	dtype.F8E4M3: {jit.Func(kernels.KeyFloat[dsl.F8E4M3]), jit.Func(kernels.BackFloat[dsl.F8E4M3]), ops.Uint32Type, 16, 32, false},
	dtype.F8E5M2: {jit.Func(kernels.KeyFloat[dsl.F8E5M2]), jit.Func(kernels.BackFloat[dsl.F8E5M2]), ops.Uint32Type, 16, 32, false},
}

const (
	networkRows = 32 // rows up to this size are sorted by a network
	networkMost = 1024
	serialShort = 4 // and where one lane sorts longer ones
	digitBits   = 8
	serialMove  = 16384 // keys that a block of one warp counts and moves
	fewRows     = 4     // how many times as long as a part of a pass takes a row that a block sorts alone
)

var (
	sortShort  = ops.NewGeneric("sort", kernels.SortShort[ops.T, ops.K])
	sortSerial = ops.NewGeneric("sort", kernels.SortSerial[ops.T, ops.K])
	sortFirst  = ops.NewGeneric("sort", kernels.SortKeys[ops.T, ops.K])
	sortCount  = ops.NewGeneric("sort", kernels.SortCount[ops.K])
	sortMove   = ops.NewGeneric("sort", kernels.SortMove[ops.K])
	sortStore  = ops.NewGeneric("sort", kernels.SortStore[ops.T])
	quantile   = ops.NewGeneric("quantile", kernels.Quantile[ops.T, ops.C])
)

// sorter is a call of [Sort].
type sorter struct {
	rowsops.RowOp
	values, indices ops.View
	info            runtime.Info
	order           kernels.Order
	ranks, second   kernels.Ranks // of the values, and of the indices
	key             sortKey
}

// SortBy is [Sort] by one of [SortStrategies], whether it is the best or not: for tests and
// benchmarks.
func SortBy(s *runtime.Stream, strategy string, values, indices, x ops.View, dim int, descending bool) error {
	c, err := newSorter(values, indices, x, dim, descending)
	if err != nil || x.Layout.Count() == 0 || c.order.Take == 0 {
		return err
	}
	c.info = ops.DeviceInfo(s.Device())
	return sorts.RunBy(s, strategy, c)
}

// SortStrategies lists the strategies to sort rows that a device can be asked for.
func SortStrategies() []string { return sorts.Names() }

// Sort sorts the elements of x along a dimension, the smallest or the largest first, and
// stores them in values and the indices that they had in the dimension, of type U32, in
// indices; either may be without memory. Where these have fewer elements along the
// dimension they get the first ones. Equal elements stay in order, -0 and 0 are equal, and
// so are all NaN, which are larger than all numbers. What is stored must not lie in the
// memory of x.
func Sort(s *runtime.Stream, values, indices, x ops.View, dim int, descending bool) error {
	return SortBy(s, "", values, indices, x, dim, descending)
}

// sorts are the strategies to sort rows.
var sorts = ops.NewStrategies(
	ops.Strategy[sorter]{Name: "serial", Fits: (*sorter).fitsSerial, Run: runSerial},
	ops.Strategy[sorter]{Name: "network", Fits: func(c *sorter) bool { return c.Len() <= networkRows && !c.vectorRows() }, Run: runNetwork},
	ops.Strategy[sorter]{Name: "tile", Fits: func(c *sorter) bool { return !c.vectorRows() && c.Len() <= c.tile(&c.info, c.Len()).items() }, Run: runTile},
	ops.Strategy[sorter]{Name: "digits", Fits: ops.Always[sorter], Run: runDigits},
).Tuned("github.com/gokiln/kiln/ops/sort", (*sorter).class)

// class is what the best strategy depends on.
func (c *sorter) class() ops.Class {
	return ops.Class{int(c.X.DType), ops.SizeClass(c.Len()), ops.SizeClass(c.ranks.Rows), ops.SizeClass(c.order.Take)}
}

// vectorRows reports whether threads are lanes of a vector and rows too long for a network: one
// lane sorts such a row in memory, or all of them go through it by digits.
func (c *sorter) vectorRows() bool { return ops.TraitsOf(&c.info).WarpBlocks && c.Len() > serialShort }

func (c *sorter) fitsSerial() bool {
	return c.vectorRows() && (c.ranks.Rows*fewRows >= c.info.Units || c.Len() <= serialMove)
}

// unfit is the error of a strategy that is asked for by name and cannot sort the rows.
func (c *sorter) unfit(strategy, wants string) error {
	return fmt.Errorf("%w: sort of rows of %d elements by %s, which wants %s", layout.ErrShape, c.Len(), strategy, wants)
}

// args are the type arguments of the kernels.
func (c *sorter) args() ops.TypeArgs { return ops.TypeArgs{T: c.X.DType, K: c.key.typ} }

func newSorter(values, indices, x ops.View, dim int, descending bool) (*sorter, error) {
	if !ops.Numbers.Has(x.DType) {
		return nil, ops.Unsupported("sort", x.DType, ops.Numbers.String())
	}
	dim, err := layout.Dim(dim, x.Layout.Rank())
	if err != nil {
		return nil, fmt.Errorf("sort: %w", err)
	}
	c := &sorter{RowOp: rowsops.RowOp{Name: "sort", X: x, Dim: dim}, values: values, indices: indices}
	n := c.Len()
	if n > math.MaxUint32 {
		return nil, fmt.Errorf("%w: sort of %d elements, indices are %s", layout.ErrTooLarge, n, dtype.U32)
	}
	c.order = kernels.Order{Down: dsl.ConstBool(descending), Values: values.Buf != nil, Indices: indices.Buf != nil, Take: -1}
	if c.Kept[0], err = x.Layout.Narrow(dim, 0, min(1, n)); err != nil {
		return nil, err
	}
	for _, o := range []struct {
		v    *ops.View
		want dtype.DType
		w    *kernels.Ranks
	}{{&c.values, x.DType, &c.ranks}, {&c.indices, dtype.U32, &c.second}} {
		if o.v.Buf == nil {
			*o.v = ops.View{DType: o.want, Layout: layout.Contiguous(x.Layout.Shape())}
		} else if err := c.check(*o.v, o.want); err != nil {
			return nil, err
		} else if n > 0 {
			c.order.Take = o.v.Layout.Shape()[dim]
		}
		if err := c.place(o.w, *o.v); err != nil {
			return nil, err
		}
	}
	c.order.Take = max(c.order.Take, 0)
	c.key = sortKeys[x.DType]
	return c, nil
}

// check checks what the result goes to.
func (c *sorter) check(v ops.View, want dtype.DType) error {
	if v.DType != want {
		return fmt.Errorf("%w: sort of %s gives %s, not %s", ops.ErrDType, c.X.DType, want, v.DType)
	}
	a, b := c.X.Layout.Shape(), v.Layout.Shape()
	fits := len(a) == len(b)
	for d := range a {
		fits = fits && (a[d] == b[d] || d == c.Dim && b[d] <= a[d] && (c.order.Take < 0 || b[d] == c.order.Take))
	}
	if !fits {
		return fmt.Errorf("%w: sort of %v along dimension %d into %v", layout.ErrShape, a, c.Dim, b)
	}
	return nil
}

// place sets the addresses of the rows of the operand and of a result.
func (c *sorter) place(w *kernels.Ranks, v ops.View) (err error) {
	size := v.Layout.Shape()[c.Dim]
	if c.X.Layout.Count() == 0 || size == 0 {
		return nil
	}
	if c.Kept[1], err = v.Layout.Narrow(c.Dim, 0, 1); err != nil {
		return err
	}
	var f rowskernels.RowReduction
	if err := rowsops.KeepDims(&f, c.Kept); err != nil {
		return fmt.Errorf("sort: %w", err)
	}
	*w = kernels.Ranks{Outs: f.Outs, Wide: f.Rows > math.MaxInt32, N: c.Len(), Rows: f.Rows, In: c.X.Layout.Strides()[c.Dim], To: v.Layout.Strides()[c.Dim]}
	w.Contiguous = w.In == 1
	w.Div, w.Size, w.Step = f.OutDiv, f.OutSize, [2][core.MaxRank]int{f.XStep, f.OutStep}
	return nil
}

// results are the arguments of kernels that store.
func (c *sorter) results() (values, indices, x any) {
	h := new([3]runtime.SliceHeader)
	if c.order.Values {
		h[0] = c.values.Header()
	}
	if c.order.Indices {
		h[1] = c.indices.Header()
	}
	h[2] = c.X.Header()
	return ops.SliceArg(c.X.DType, &h[0]), ops.SliceArg(dtype.U32, &h[1]), ops.SliceArg(c.X.DType, &h[2])
}

// runNetwork sorts rows that fit a block.
func runNetwork(s *runtime.Stream, c *sorter) error {
	info := &c.info
	if c.Len() > networkMost {
		return c.unfit("a network", fmt.Sprintf("at most %d elements", networkMost))
	}
	size := max(2, 1<<bits.Len(uint(c.ranks.N-1)))
	threads := min(ops.MaxThreads, info.MaxThreads)
	if ops.TraitsOf(info).WarpBlocks {
		threads = info.WarpSize
	}
	c.order.Size, c.order.Items = dsl.ConstInt(size), dsl.ConstInt(max(size, 2*threads))
	per := int(c.order.Items) / size
	blocks := (c.ranks.Rows + per - 1) / per
	v, i, x := c.results()
	grid := runtime.Grid{Blocks: runtime.Dim3{X: min(blocks, ops.RowBlocks(info, threads))}, Threads: runtime.Dim3{X: threads}}
	return sortShort.Launch(s, c.args(), grid, v, i, x, c.ranks, c.second, c.order, c.key.fn)
}

// runSerial sorts rows that blocks have by themselves.
func runSerial(s *runtime.Stream, c *sorter) error {
	info := &c.info
	if !ops.TraitsOf(info).WarpBlocks {
		return c.unfit("one lane", "a device whose multiprocessors hold one warp at a time")
	}
	blocks, n := min(c.ranks.Rows, ops.RowBlocks(info, info.WarpSize)), c.ranks.N
	size := int(c.key.typ.Size())
	var room ops.Scratch
	if err := room.Alloc(s, 2*blocks*n*(size+4)); err != nil {
		return fmt.Errorf("sort of %d elements: %w", c.ranks.Rows*n, err)
	}
	defer room.Free(s)
	keys, err := room.Uints(c.key.typ == ops.Uint64Type, 2*blocks*n)
	if err != nil {
		return err
	}
	at := room.Take(4, 2*blocks*n)
	v, i, x := c.results()
	return sortSerial.Launch(s, c.args(), runtime.Blocks(blocks, info.WarpSize), v, i, x, keys, ops.SliceArg(dtype.U32, &at), c.ranks, c.second, c.order, dsl.ConstBool(c.key.bare), c.key.fn, c.key.back)
}

// runTile sorts rows of which a tile has one or several.
func runTile(s *runtime.Stream, c *sorter) error {
	info := &c.info
	n := c.Len()
	t := c.tile(info, n)
	if !ops.TraitsOf(info).BlockTiles || n <= networkRows || n > t.items() {
		return c.unfit("a tile", fmt.Sprintf("blocks of several warps, and more than %d elements but at most %d", networkRows, t.items()))
	}
	t.Per, t.Rows, t.From, t.End, t.Bare = t.items()/n, c.ranks.Rows, c.key.from, c.key.end, dsl.ConstBool(c.key.bare)
	t.Div = ops.Divisor(n)
	if t.Per > 1 {
		t.RowBits = dsl.ConstInt(bits.Len(uint((t.items() - 1) / n)))
	}
	v, i, x := c.results()
	grid := runtime.Grid{Blocks: runtime.Dim3{X: min((c.ranks.Rows+t.Per-1)/t.Per, ops.RowBlocks(info, t.threads))}, Threads: runtime.Dim3{X: t.threads}}
	return sortRows.Launch(s, c.args(), grid, v, i, x, c.ranks, c.second, c.order, t.Digits, c.key.fn, c.key.back)
}

// runDigits sorts rows by the digits of their keys.
func runDigits(s *runtime.Stream, c *sorter) error {
	info := &c.info
	m := Radix{Rows: c.ranks.Rows, N: c.ranks.N, Wide: c.key.typ == ops.Uint64Type, from: c.key.from, End: c.key.end, of: c}
	if err := m.Alloc(s, info); err != nil {
		return fmt.Errorf("sort of %d elements: %w", m.Rows*m.N, err)
	}
	defer m.Scratch.Free(s)
	if m.tile != nil {
		_, err := m.Run(s, info)
		return err
	}
	values, indices, x := c.results()
	if err := sortFirst.Launch(s, c.args(), m.grid(), m.Keys[0], x, c.ranks, c.order, c.key.fn); err != nil {
		return err
	}
	at, err := m.Run(s, info)
	if err != nil {
		return err
	}
	return sortStore.Launch(s, c.args(), m.grid(), values, indices, x, m.At[at], c.ranks, c.second, c.order)
}

// Quantile stores, for each row of x along a dimension, what lies q, of 0 to 1, of the way
// from the smallest element to the largest, between two elements in proportion: q = 0.5
// gives the median, of an even number of elements the middle of two. A row with NaN gives
// NaN. Out has the other dimensions of x, or all of them with size 1 for dim.
func Quantile(s *runtime.Stream, out, x ops.View, dim int, q float64) error {
	switch {
	case !ops.Floats.Has(x.DType):
		return ops.Unsupported("quantile", x.DType, ops.Floats.String())
	case out.DType != x.DType:
		return fmt.Errorf("%w: quantile of %s gives %s, not %s", ops.ErrDType, x.DType, x.DType, out.DType)
	case !(q >= 0 && q <= 1):
		return fmt.Errorf("quantile %v: want 0 to 1", q)
	}
	kept, reduced, err := rowsops.SplitDims("quantile", out.Layout, x.Layout, []int{dim})
	if err != nil {
		return err
	}
	n := reduced.Count()
	if n == 0 {
		return fmt.Errorf("%w: quantile along dimension %d of shape %v", ops.ErrEmpty, dim, x.Layout.Shape())
	}
	if out.Layout.Count() == 0 {
		return nil
	}
	d, err := layout.Dim(dim, x.Layout.Rank())
	if err != nil {
		return err
	}
	at, frac := math.Modf(q * float64(n-1))
	if done, err := pickQuantile(s, out, x, d, int(at), frac); done || err != nil {
		return err
	}
	var room ops.Scratch
	if err := room.Alloc(s, x.Layout.Count()*x.DType.Size()); err != nil {
		return fmt.Errorf("quantile: %w", err)
	}
	defer room.Free(s)
	// Contiguous rows, in the order of the other dimensions.
	last := x.Layout.Rank() - 1
	moved := make([]int, 0, last+1)
	for i := range last + 1 {
		if i != d {
			moved = append(moved, i)
		}
	}
	rows, err := x.Layout.Permute(append(moved, d)...)
	if err != nil {
		return err
	}
	sorted := ops.View{Buf: room.Buf, DType: x.DType, Layout: layout.Contiguous(rows.Shape())}
	if err := Sort(s, sorted, ops.View{}, ops.View{Buf: x.Buf, DType: x.DType, Layout: rows}, last, false); err != nil {
		return err
	}
	c := x.DType.Compute()
	var w rowskernels.RowReduction
	if err := rowsops.KeepDims(&w, [2]layout.Layout{layout.Contiguous(kept[1].Shape()), kept[1]}); err != nil {
		return fmt.Errorf("quantile: %w", err)
	}
	w.N, w.Wide = n, w.Rows > math.MaxInt32
	oh, sh, f := out.Header(), sorted.Header(), dtype.FromFloat(c, frac).Bits()
	return quantile.Launch(s, ops.TypeArgs{T: x.DType}, runtime.Cover(w.Rows, ops.DeviceInfo(s.Device()).WarpSize), ops.SliceArg(out.DType, &oh), ops.SliceArg(x.DType, &sh), w, int(at), ops.ScalarArg(c, &f))
}
