package sort

import (
	"math"

	"github.com/gokiln/kiln/dsl"
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

func (t *tile) items() int { return int(t.TileItems) }

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
	t.TileItems, t.Blocks = t.Each*dsl.ConstInt(t.threads), 2
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
	sortRows   = ops.NewGeneric("sort", kernels.SortRows[ops.T, ops.K])
	sortDigits = ops.NewGeneric("sort", kernels.SortDigits[ops.T, ops.K])
	sortTiles  = ops.NewGeneric("sort", kernels.SortTiles[ops.T, ops.K])

	sortHistogram = ops.NewGeneric("sort", kernels.SortHistogram[ops.T, ops.K])
	sortSweep     = ops.NewGeneric("sort", kernels.SortSweep[ops.T, ops.K])
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
	if err := sortCount.Launch(s, m.args(), m.grid(), m.counts, m.Keys[here], m.N, m.part, m.Rows, shift); err != nil {
		return err
	}
	if err := rows.CumSum.Run(s, m.sums, m.count, 1); err != nil {
		return err
	}
	sums := m.sums.Header()
	return sortMove.Launch(s, m.args(), m.grid(), m.Keys[1-here], m.At[1-here], m.Keys[here], m.At[here], ops.SliceArg(dtype.U32, &sums), m.N, m.part, m.Rows, shift, dsl.ConstBool(shift > m.from))
}

// args are the type arguments of kernels of keys alone.
func (m *Radix) args() ops.TypeArgs {
	if m.Wide {
		return ops.TypeArgs{K: ops.Uint64Type}
	}
	return ops.TypeArgs{K: ops.Uint32Type}
}

// tileCall is the arguments that the kernels of tiles share.
type tileCall struct {
	c                  *sorter
	key                sortKey
	args               ops.TypeArgs
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
	if m.of != nil {
		t.c = m.of
		t.key, t.args = t.c.key, t.c.args()
		d.Bare = dsl.ConstBool(t.key.bare)
		t.values, t.indices, t.x = t.c.results()
	} else {
		e := dtype.U32 // elements of which there are none have a type
		if m.Wide {
			e = dtype.I64
		}
		t.c, t.key = &sorter{}, sortKeys[e]
		t.args = ops.TypeArgs{T: e, K: t.key.typ}
		none := ops.SliceArg(e, new(runtime.SliceHeader))
		t.values, t.indices, t.x = none, runtime.Slice[uint32]{}, none
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
	if err := sortDigits.Launch(s, t.args, m.grid(), m.counts, t.x, m.Keys[here], t.c.ranks, kernels.Order{Down: t.order.Down}, t.digits, t.key.fn); err != nil {
		return err
	}
	if err := rows.CumSum.Run(s, m.sums, m.count, 1); err != nil {
		return err
	}
	sums := m.sums.Header()
	return sortTiles.Launch(s, t.args, m.grid(), t.values, t.indices, m.Keys[1-here], m.At[1-here], t.x, m.Keys[here], m.At[here], ops.SliceArg(dtype.U32, &sums), t.c.ranks, t.c.second, t.order, t.digits, t.key.fn, t.key.back)
}

// sweeps reports whether blocks may wait for each other. Their tiles are as large as can be:
// fewer status words are published, and runs of a digit are longer.
func (m *Radix) sweeps(info *runtime.Info, size int) bool {
	t := m.tile
	if !info.Cooperative || t.Bits != digitBits || m.N > kernels.MostSwept || m.Rows > math.MaxInt32/(m.N/t.threads+1) {
		return false
	}
	t.Each = dsl.ConstInt(min(t.free(info)/(t.threads*(size+4)), mostSwept) &^ 1)
	t.TileItems, t.Blocks = t.Each*dsl.ConstInt(t.threads), sweepBlocks
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
	return sortHistogram.Launch(s, t.args, g, ops.SliceArg(dtype.U32, &m.words), t.x, m.Keys[0], t.c.ranks, kernels.Order{Down: t.order.Down}, t.digits, dsl.ConstInt(m.passes), t.key.fn)
}

// histograms is how many blocks of a multiprocessor count digits.
const histograms = 8

// sweep moves the keys by one digit.
func (m *Radix) sweep(s *runtime.Stream, here, shift int) error {
	t := m.call(here, shift)
	g := runtime.Grid{Blocks: runtime.Dim3{X: m.Rows * m.parts}, Threads: runtime.Dim3{X: m.threads}}
	return sortSweep.Launch(s, t.args, g, t.values, t.indices, m.Keys[1-here], m.At[1-here], t.x, m.Keys[here], m.At[here], ops.SliceArg(dtype.U32, &m.words), t.c.ranks, t.c.second, t.order, t.digits, (shift-m.from)/digitBits, m.passes, t.key.fn, t.key.back)
}

func (m *Radix) Alloc(s *runtime.Stream, info *runtime.Info) error {
	m.part, m.threads = serialMove, info.WarpSize
	size, sweeps := 4, false
	if m.Wide {
		size = 8
	}
	if ops.TraitsOf(info).BlockTiles {
		m.tile = newTile(info, size, m.N)
		sweeps = m.sweeps(info, size)
		m.part, m.threads = m.tile.items(), m.tile.threads
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
