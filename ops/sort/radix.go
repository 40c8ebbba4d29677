package sort

import (
	"math"
	"reflect"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/rows"
	rowskernels "github.com/gokiln/kiln/ops/rows/kernels"
	"github.com/gokiln/kiln/ops/sort/kernels"
	"github.com/gokiln/kiln/runtime"
)

// tile is how blocks of several warps sort rows of n.
func (c *sorter) tile(info *runtime.Info, n int) *tile {
	size := 4
	if c.key.typ == ops.Uint64Type {
		size = 8
	}
	return newTile(info, size, n)
}

// tile says how blocks of several warps sort.
type tile struct {
	kernels.Digits
	threads int
}

func (t *tile) room() int { return int(t.Room) }

// newTile returns tiles for keys of so many bytes, of rows of n: no larger than these, or
// than there is shared memory for.
func newTile(info *runtime.Info, size, n int) *tile {
	t := &tile{threads: min(ops.MaxThreads, info.MaxThreads)}
	warps := t.threads / info.WarpSize
	t.Bits = digitBits
	for warps<<t.Bits > mostCounters || 1<<t.Bits > t.threads {
		t.Bits--
	}
	t.Next = dsl.ConstInt(warps << t.Bits)
	t.Wide = info.WarpSize > 32
	free := t.free(info)
	t.Each = 2
	for most := 64 / size; int(t.Each) < most && t.threads*int(t.Each) < n; {
		if 2*int(t.Each)*t.threads*(size+4) > free {
			break
		}
		t.Each *= 2
	}
	t.Room, t.Blocks = t.Each*dsl.ConstInt(t.threads), 2
	t.N = n
	return t
}

// free is how many bytes of shared memory a block has for keys and where they were.
func (t *tile) free(info *runtime.Info) int {
	return min(info.SharedPerBlock, mostShared) - 2*int(t.Next) - 4<<t.Bits - 1024 // what scans have
}

const (
	mostCounters = 4096     // of a block that sorts by digits
	mostShared   = 48 << 10 // what every device with several warps on a multiprocessor has
	mostSwept    = 20       // keys of a thread that sweeps
	sweepBlocks  = 3        // that are resident on a multiprocessor, as found on an H200
)

var (
	digitsType = reflect.TypeFor[kernels.Digits]()
	sortRows   = jit.Of(kernels.SortRows[float32, uint32])
	sortDigits = jit.Of(kernels.SortDigits[float32, uint32])
	sortTiles  = jit.Of(kernels.SortTiles[float32, uint32])

	sortHistogram = jit.Of(kernels.SortHistogram[float32, uint32])
	sortSweep     = jit.Of(kernels.SortSweep[float32, uint32])
)

// Radix is a sort of rows of keys by their digits, and its memory.
type Radix struct {
	Rows, N   int
	Wide      bool    // keys have 64 bits
	from, End int     // the bits that differ
	of        *sorter // whose rows these are, if the keys are not there yet

	part, parts, threads int    // of a row, which a block has
	tile                 *tile  // of blocks of several warps
	Keys                 [2]any // slices of keys
	At                   [2]any // of where they were
	counts               any
	sums, count          ops.View
	words                runtime.SliceHeader // of sweeps, if there are any
	passes               int
	Scratch              ops.Scratch
}

func (m *Radix) grid() runtime.Grid {
	return runtime.Grid{Blocks: runtime.Dim3{X: m.parts, Y: min(m.Rows, ops.MaxBlocks())}, Threads: runtime.Dim3{X: m.threads}}
}

// Run sorts the keys that are in the first slice. It returns which slices have them then,
// and where they were in their rows.
func (m *Radix) Run(s *runtime.Stream, info *runtime.Info) (here int, err error) {
	pass := m.serialPass
	switch {
	case m.words.Len > 0:
		pass = m.sweep
		if err := m.histogram(s, info); err != nil {
			return here, err
		}
	case m.tile != nil:
		pass = m.tilePass
	}
	for shift := m.from; shift < m.End; shift += m.digit() {
		if err := pass(s, here, shift); err != nil {
			return here, err
		}
		here = 1 - here
	}
	return here, nil
}

// digit is how many bits a digit has.
func (m *Radix) digit() int {
	if m.tile != nil {
		return int(m.tile.Bits)
	}
	return digitBits
}

// serialPass moves the keys by one digit, with blocks of one warp.
func (m *Radix) serialPass(s *runtime.Stream, here, shift int) error {
	ks := m.slices()
	count := sortCount.As(ops.KernelType(ops.Uint32SliceType, ks, ops.IntType, ops.IntType, ops.IntType, ops.IntType))
	if err := count.Launch(s, m.grid(), m.counts, m.Keys[here], m.N, m.part, m.Rows, shift); err != nil {
		return err
	}
	if err := rows.CumSum.Run(s, m.sums, m.count, 1); err != nil {
		return err
	}
	sums := m.sums.Header()
	move := sortMove.As(ops.KernelType(ks, ops.Uint32SliceType, ks, ops.Uint32SliceType, ops.Uint32SliceType, ops.IntType, ops.IntType, ops.IntType, ops.IntType, ops.ConstBoolType))
	return move.Launch(s, m.grid(), m.Keys[1-here], m.At[1-here], m.Keys[here], m.At[here], ops.SliceArg(dtype.U32, &sums), m.N, m.part, m.Rows, shift, dsl.ConstBool(shift > m.from))
}

// slices is the type of a slice of keys.
func (m *Radix) slices() reflect.Type {
	if m.Wide {
		return slices64
	}
	return slices32
}

// tileCall is the arguments that the kernels of tiles share.
type tileCall struct {
	c                  *sorter
	ts, ks             reflect.Type // slices of elements and of keys
	order              kernels.Order
	values, indices, x any
	digits             kernels.Digits
}

// call is how a digit is gone by. Without rows of an operand keys stand for elements, none
// of which is read or stored.
func (m *Radix) call(here, shift int) (t tileCall) {
	d := &t.digits
	*d = m.tile.Digits
	d.From, d.Parts, d.Rows = shift, m.parts, m.Rows
	d.X, d.At = m.of != nil && shift == m.from, shift > m.from
	d.Last = m.of != nil && shift+m.digit() >= m.End
	t.ks = m.slices()
	t.ts, t.c = t.ks, &sorter{}
	t.values, t.indices, t.x = m.Keys[0], runtime.Slice[uint32]{}, m.Keys[0]
	if m.of != nil {
		t.c = m.of
		d.Bare = dsl.ConstBool(t.c.key.bare)
		t.ts = reflect.SliceOf(t.c.X.DType.Type())
		t.values, t.indices, t.x = t.c.results()
	} else {
		t.c.fnType = reflect.FuncOf([]reflect.Type{t.ks.Elem()}, []reflect.Type{t.ks.Elem()}, false)
		t.c.backType = t.c.fnType
		t.c.fn = sameKey.As(t.c.fnType)
		t.c.back = t.c.fn
	}
	t.order = t.c.order
	if !d.Last {
		t.order.Values, t.order.Indices = false, false
	}
	return t
}

// tilePass moves the keys by one digit.
func (m *Radix) tilePass(s *runtime.Stream, here, shift int) error {
	t := m.call(here, shift)
	count := sortDigits.As(ops.KernelType(ops.Uint32SliceType, t.ts, t.ks, ranksType, orderType, digitsType, t.c.fnType))
	if err := count.Launch(s, m.grid(), m.counts, t.x, m.Keys[here], t.c.ranks, kernels.Order{Down: t.order.Down}, t.digits, t.c.fn); err != nil {
		return err
	}
	if err := rows.CumSum.Run(s, m.sums, m.count, 1); err != nil {
		return err
	}
	sums := m.sums.Header()
	move := sortTiles.As(ops.KernelType(t.ts, ops.Uint32SliceType, t.ks, ops.Uint32SliceType, t.ts, t.ks, ops.Uint32SliceType, ops.Uint32SliceType, ranksType, ranksType, orderType, digitsType, t.c.fnType, t.c.backType))
	return move.Launch(s, m.grid(), t.values, t.indices, m.Keys[1-here], m.At[1-here], t.x, m.Keys[here], m.At[here], ops.SliceArg(dtype.U32, &sums), t.c.ranks, t.c.second, t.order, t.digits, t.c.fn, t.c.back)
}

// sweeps reports whether blocks may wait for each other. Their tiles are as large as can be:
// less is told, and neighbours of a digit are more.
func (m *Radix) sweeps(info *runtime.Info, size int) bool {
	t := m.tile
	if !info.Cooperative || t.Bits != digitBits || m.N > kernels.MostSwept || m.Rows > math.MaxInt32/(m.N/t.threads+1) {
		return false
	}
	t.Each = dsl.ConstInt(min(t.free(info)/(t.threads*(size+4)), mostSwept) &^ 1)
	t.Room, t.Blocks = t.Each*dsl.ConstInt(t.threads), sweepBlocks
	m.passes = (m.End - m.from + digitBits - 1) / digitBits
	t.Counts = rowskernels.HeadWords
	t.Look = t.Counts + m.Rows*m.passes<<digitBits
	return true
}

// histogram counts all digits, after it has cleared the words.
func (m *Radix) histogram(s *runtime.Stream, info *runtime.Info) error {
	if err := rows.ZeroWords(s, &m.words); err != nil {
		return err
	}
	t := m.call(0, m.from)
	t.digits.Blocks = 0
	enough := max(1, histograms*info.Units/min(m.Rows, ops.MaxBlocks()))
	g := runtime.Grid{Blocks: runtime.Dim3{X: min(m.parts, enough), Y: min(m.Rows, ops.MaxBlocks())}, Threads: runtime.Dim3{X: m.threads}}
	k := sortHistogram.As(ops.KernelType(ops.Uint32SliceType, t.ts, t.ks, ranksType, orderType, digitsType, ops.ConstIntType, t.c.fnType))
	return k.Launch(s, g, ops.SliceArg(dtype.U32, &m.words), t.x, m.Keys[0], t.c.ranks, kernels.Order{Down: t.order.Down}, t.digits, dsl.ConstInt(m.passes), t.c.fn)
}

// histograms is how many blocks of a multiprocessor count digits.
const histograms = 8

// sweep moves the keys by one digit.
func (m *Radix) sweep(s *runtime.Stream, here, shift int) error {
	t := m.call(here, shift)
	k := sortSweep.As(ops.KernelType(t.ts, ops.Uint32SliceType, t.ks, ops.Uint32SliceType, t.ts, t.ks, ops.Uint32SliceType, ops.Uint32SliceType, ranksType, ranksType, orderType, digitsType, ops.IntType, ops.IntType, t.c.fnType, t.c.backType))
	g := runtime.Grid{Blocks: runtime.Dim3{X: m.Rows * m.parts}, Threads: runtime.Dim3{X: m.threads}}
	return k.Launch(s, g, t.values, t.indices, m.Keys[1-here], m.At[1-here], t.x, m.Keys[here], m.At[here], ops.SliceArg(dtype.U32, &m.words), t.c.ranks, t.c.second, t.order, t.digits, (shift-m.from)/digitBits, m.passes, t.c.fn, t.c.back)
}

var sameKey = jit.Func(kernels.SameKey[uint32])

func (m *Radix) Alloc(s *runtime.Stream, info *runtime.Info) error {
	m.part, m.threads = serialMove, info.WarpSize
	size, sweeps := 4, false
	if m.Wide {
		size = 8
	}
	if !ops.SerialBlocks(info) {
		m.tile = newTile(info, size, m.N)
		sweeps = m.sweeps(info, size)
		m.part, m.threads = m.tile.room(), m.tile.threads
	}
	m.parts = (m.N + m.part - 1) / m.part
	counts, words := m.Rows*m.parts<<m.digit(), 0
	if sweeps {
		counts, words = 0, m.tile.Look+m.passes*counts
	}
	if err := m.Scratch.Alloc(s, 2*m.Rows*m.N*(size+4)+8*counts+4*words); err != nil {
		return err
	}
	for i := range m.Keys {
		var err error
		if m.Keys[i], err = m.Scratch.Uints(m.Wide, m.Rows*m.N); err != nil {
			return err
		}
	}
	for i := range m.At {
		h := m.Scratch.Take(4, m.Rows*m.N)
		m.At[i] = ops.SliceArg(dtype.U32, &h)
	}
	if words > 0 {
		m.words = m.Scratch.Take(4, words)
		return nil
	}
	for _, v := range []*ops.View{&m.count, &m.sums} {
		h := m.Scratch.Take(4, counts)
		at, err := layout.New(layout.Shape{m.Rows, m.parts << m.digit()}, []int{m.parts << m.digit(), 1}, h.Off)
		if err != nil {
			return err
		}
		*v = ops.View{Buf: h.Buf, DType: dtype.U32, Layout: at}
	}
	h := m.count.Header()
	m.counts = ops.SliceArg(dtype.U32, &h)
	return nil
}
