package ops

import (
	"math"
	"reflect"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// tile is how blocks of several warps sort rows of n.
func (c *sorter) tile(info *runtime.Info, n int) *tile {
	size := 4
	if c.key.typ == key64 {
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
	t := &tile{threads: min(maxThreads, info.MaxThreads)}
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
	mostShared   = 48 << 10 // what every device of several warps a unit has
	mostSwept    = 20       // keys of a thread that sweeps
	sweepBlocks  = 3        // that a unit has room for at once, as found on an H200
)

var (
	digitsType = reflect.TypeFor[kernels.Digits]()
	sortRows   = jit.Of(kernels.SortRows[float32, uint32])
	sortDigits = jit.Of(kernels.SortDigits[float32, uint32])
	sortTiles  = jit.Of(kernels.SortTiles[float32, uint32])

	sortHistogram = jit.Of(kernels.SortHistogram[float32, uint32])
	sortSweep     = jit.Of(kernels.SortSweep[float32, uint32])
)

// radix is a sort of rows of keys by their digits, and its memory.
type radix struct {
	rows, n   int
	wide      bool    // keys have 64 bits
	from, end int     // the bits that differ
	of        *sorter // whose rows these are, if the keys are not there yet

	part, parts, threads int    // of a row, which a block has
	tile                 *tile  // of blocks of several warps
	keys                 [2]any // slices of keys
	at                   [2]any // of where they were
	counts               any
	sums, count          View
	words                runtime.SliceHeader // of sweeps, if there are any
	passes               int
	room                 scratch
}

func (m *radix) grid() runtime.Grid {
	return runtime.Grid{Blocks: runtime.Dim3{X: m.parts, Y: min(m.rows, mostBlocks)}, Threads: runtime.Dim3{X: m.threads}}
}

// run sorts the keys that are in the first slice. It returns which slices have them then,
// and where they were in their rows.
func (m *radix) run(s *runtime.Stream, info *runtime.Info) (here int, err error) {
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
	for shift := m.from; shift < m.end; shift += m.digit() {
		if err := pass(s, here, shift); err != nil {
			return here, err
		}
		here = 1 - here
	}
	return here, nil
}

// digit is how many bits a digit has.
func (m *radix) digit() int {
	if m.tile != nil {
		return int(m.tile.Bits)
	}
	return digitBits
}

// serialPass moves the keys by one digit, with blocks of one warp.
func (m *radix) serialPass(s *runtime.Stream, here, shift int) error {
	ks := m.slices()
	count := sortCount.As(kernelType(uint32s, ks, intType, intType, intType, intType))
	if err := count.Launch(s, m.grid(), m.counts, m.keys[here], m.n, m.part, m.rows, shift); err != nil {
		return err
	}
	if err := CumSum.Run(s, m.sums, m.count, 1); err != nil {
		return err
	}
	sums := m.sums.header()
	move := sortMove.As(kernelType(ks, uint32s, ks, uint32s, uint32s, intType, intType, intType, intType, constBool))
	return move.Launch(s, m.grid(), m.keys[1-here], m.at[1-here], m.keys[here], m.at[here], slice(dtype.U32, &sums), m.n, m.part, m.rows, shift, dsl.ConstBool(shift > m.from))
}

// slices is the type of a slice of keys.
func (m *radix) slices() reflect.Type {
	if m.wide {
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
func (m *radix) call(here, shift int) (t tileCall) {
	d := &t.digits
	*d = m.tile.Digits
	d.From, d.Parts, d.Rows = shift, m.parts, m.rows
	d.X, d.At = m.of != nil && shift == m.from, shift > m.from
	d.Last = m.of != nil && shift+m.digit() >= m.end
	t.ks = m.slices()
	t.ts, t.c = t.ks, &sorter{}
	t.values, t.indices, t.x = m.keys[0], runtime.Slice[uint32]{}, m.keys[0]
	if m.of != nil {
		t.c = m.of
		d.Bare = dsl.ConstBool(t.c.key.bare)
		t.ts = reflect.SliceOf(t.c.x.DType.Type())
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
func (m *radix) tilePass(s *runtime.Stream, here, shift int) error {
	t := m.call(here, shift)
	count := sortDigits.As(kernelType(uint32s, t.ts, t.ks, ranksType, orderType, digitsType, t.c.fnType))
	if err := count.Launch(s, m.grid(), m.counts, t.x, m.keys[here], t.c.ranks, kernels.Order{Down: t.order.Down}, t.digits, t.c.fn); err != nil {
		return err
	}
	if err := CumSum.Run(s, m.sums, m.count, 1); err != nil {
		return err
	}
	sums := m.sums.header()
	move := sortTiles.As(kernelType(t.ts, uint32s, t.ks, uint32s, t.ts, t.ks, uint32s, uint32s, ranksType, ranksType, orderType, digitsType, t.c.fnType, t.c.backType))
	return move.Launch(s, m.grid(), t.values, t.indices, m.keys[1-here], m.at[1-here], t.x, m.keys[here], m.at[here], slice(dtype.U32, &sums), t.c.ranks, t.c.second, t.order, t.digits, t.c.fn, t.c.back)
}

// sweeps reports whether blocks may wait for each other. Their tiles are as large as can be:
// less is told, and neighbours of a digit are more.
func (m *radix) sweeps(info *runtime.Info, size int) bool {
	t := m.tile
	if !info.Cooperative || t.Bits != digitBits || m.n > kernels.MostSwept || m.rows > math.MaxInt32/(m.n/t.threads+1) {
		return false
	}
	t.Each = dsl.ConstInt(min(t.free(info)/(t.threads*(size+4)), mostSwept) &^ 1)
	t.Room, t.Blocks = t.Each*dsl.ConstInt(t.threads), sweepBlocks
	m.passes = (m.end - m.from + digitBits - 1) / digitBits
	t.Counts = kernels.HeadWords
	t.Look = t.Counts + m.rows*m.passes<<digitBits
	return true
}

// histogram counts all digits, after it has cleared the words.
func (m *radix) histogram(s *runtime.Stream, info *runtime.Info) error {
	if err := zero(s, &m.words); err != nil {
		return err
	}
	t := m.call(0, m.from)
	t.digits.Blocks = 0
	enough := max(1, histograms*info.Units/min(m.rows, mostBlocks))
	g := runtime.Grid{Blocks: runtime.Dim3{X: min(m.parts, enough), Y: min(m.rows, mostBlocks)}, Threads: runtime.Dim3{X: m.threads}}
	k := sortHistogram.As(kernelType(uint32s, t.ts, t.ks, ranksType, orderType, digitsType, constInt, t.c.fnType))
	return k.Launch(s, g, slice(dtype.U32, &m.words), t.x, m.keys[0], t.c.ranks, kernels.Order{Down: t.order.Down}, t.digits, dsl.ConstInt(m.passes), t.c.fn)
}

// histograms is how many blocks of a unit count digits.
const histograms = 8

// sweep moves the keys by one digit.
func (m *radix) sweep(s *runtime.Stream, here, shift int) error {
	t := m.call(here, shift)
	k := sortSweep.As(kernelType(t.ts, uint32s, t.ks, uint32s, t.ts, t.ks, uint32s, uint32s, ranksType, ranksType, orderType, digitsType, intType, intType, t.c.fnType, t.c.backType))
	g := runtime.Grid{Blocks: runtime.Dim3{X: m.rows * m.parts}, Threads: runtime.Dim3{X: m.threads}}
	return k.Launch(s, g, t.values, t.indices, m.keys[1-here], m.at[1-here], t.x, m.keys[here], m.at[here], slice(dtype.U32, &m.words), t.c.ranks, t.c.second, t.order, t.digits, (shift-m.from)/digitBits, m.passes, t.c.fn, t.c.back)
}

// keys takes room for n keys, of 64 bits or of 32.
func (m *scratch) keys(wide bool, n int) (any, error) {
	if !wide {
		h := m.take(4, n)
		return slice(dtype.U32, &h), nil
	}
	h := m.take(8, n)
	all, err := runtime.View[uint64](h.Buf)
	if err != nil {
		return nil, err
	}
	return all.Slice(h.Off, h.Off+h.Len), nil
}

var sameKey = jit.Func(kernels.SameKey[uint32])

func (m *radix) alloc(s *runtime.Stream, info *runtime.Info) error {
	m.part, m.threads = serialMove, info.WarpSize
	size, sweeps := 4, false
	if m.wide {
		size = 8
	}
	if !serial(info) {
		m.tile = newTile(info, size, m.n)
		sweeps = m.sweeps(info, size)
		m.part, m.threads = m.tile.room(), m.tile.threads
	}
	m.parts = (m.n + m.part - 1) / m.part
	counts, words := m.rows*m.parts<<m.digit(), 0
	if sweeps {
		counts, words = 0, m.tile.Look+m.passes*counts
	}
	if err := m.room.alloc(s, 2*m.rows*m.n*(size+4)+8*counts+4*words); err != nil {
		return err
	}
	for i := range m.keys {
		var err error
		if m.keys[i], err = m.room.keys(m.wide, m.rows*m.n); err != nil {
			return err
		}
	}
	for i := range m.at {
		h := m.room.take(4, m.rows*m.n)
		m.at[i] = slice(dtype.U32, &h)
	}
	if words > 0 {
		m.words = m.room.take(4, words)
		return nil
	}
	for _, v := range []*View{&m.count, &m.sums} {
		h := m.room.take(4, counts)
		at, err := layout.New(layout.Shape{m.rows, m.parts << m.digit()}, []int{m.parts << m.digit(), 1}, h.Off)
		if err != nil {
			return err
		}
		*v = View{Buf: h.Buf, DType: dtype.U32, Layout: at}
	}
	h := m.count.header()
	m.counts = slice(dtype.U32, &h)
	return nil
}
