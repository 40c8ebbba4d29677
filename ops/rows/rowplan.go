package rows

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/rows/kernels"
	"github.com/gokiln/kiln/runtime"
)

// A softmax or normalisation reads each row twice: for its statistics, and for the results. A
// strategy is where the row is kept in between. What a device has decides among them: threads,
// registers and shared memory of its multiprocessors, and whether blocks may wait for each other.

// rowStrategy is a row of the table of strategies.
type rowStrategy struct {
	name    string
	strided bool // for rows of any strides
	fits    func(r *rowShape) (rowPlan, bool)
	launch  func(c *rowCall, s *runtime.Stream, p *rowPlan) error
}

// rowStrategies returns the strategies, of which the first that fits is taken.
func rowStrategies() []rowStrategy {
	return []rowStrategy{
		{"lanes: registers, or memory again", false, (*rowShape).lanes, (*rowCall).launchRows},
		{"staged, next row copied", false, (*rowShape).fetched, (*rowCall).launchFetched},
		{"staged", false, (*rowShape).staged, (*rowCall).launchSplit},
		{"registers", false, (*rowShape).registers, (*rowCall).launchRows},
		{"staged, next row in registers", false, (*rowShape).prefetched, (*rowCall).launchPrefetched},
		{"staged by several blocks", false, (*rowShape).split, (*rowCall).launchSplit},
		{"a reduction, then columns", true, (*rowShape).columns, (*rowCall).launchColumns},
		{"a reduction, then elements", true, (*rowShape).any, (*rowCall).launchKnown},
	}
}

// rowTuning has the numbers of the strategies that measurements chose: on an H100, and the
// first two on CPUs with AVX2 and AVX-512. They are here, and not candidates of a [jit.Tuner],
// because the order of additions depends on them, and a launch would look its choice up.
type rowTuning struct {
	laneItems      int // items of a lane that stay in registers; longer rows are read again
	laneRow        int // rows from this size on are reduced in parts, if fewer than multiprocessors
	warpItems      int // items of a thread before more lanes share a row; twice as many of 16 bits
	warpItemsMost  int // items of a thread before a block shares a row
	blockItems     int // items of a thread before the block gets more threads
	blockItemsMost int // items of a thread in registers at most
	splitRow       int // longer rows are staged in shared memory, or split among blocks
	halfRow        int // rows of 16-bit types from this size on are staged
	halfItems      int // items of a thread of such a block, up to splitRow
	fetchedLeast   int // resident blocks below which longer rows of 16-bit types are split
	wavesLeast     int // rows per multiprocessor below which rows are split
	concurrent     int // launches whose split rows must be resident at the same time
	partBytes      int // shared memory of a part of a split row

	prefetched, fetched, part blockLimits
}

// blockLimits bounds a kind of blocks.
type blockLimits struct {
	threads   int // of a block at most
	items     int // of a thread at most, or before the block gets more threads
	registers int // of a thread
	reserved  int // bytes of shared memory of a block besides the row
}

// tuned has the defaults.
var tuned = rowTuning{
	laneItems: 16, laneRow: 1 << 17,
	warpItems: 8, warpItemsMost: 32, blockItems: 16, blockItemsMost: 64,
	splitRow: 8192, halfRow: 1024, halfItems: 32, fetchedLeast: 3, wavesLeast: 2,
	concurrent: 4, partBytes: 1 << 15,
	prefetched: blockLimits{threads: 1024, items: 32, registers: 64, reserved: 2048},
	fetched:    blockLimits{threads: 512, items: 64, registers: 40, reserved: 2048},
	part:       blockLimits{threads: ops.MaxThreads, items: 64, registers: 48, reserved: 1024},
}

// size returns how many threads a block needs for a row of n elements.
func (b *blockLimits) size(info *runtime.Info, n int) int {
	threads, most := info.WarpSize, min(b.threads, info.MaxThreads)
	for threads*b.items < n && threads*2 <= most {
		threads *= 2
	}
	return threads
}

// resident returns how many blocks with so many threads and bytes of a row are resident on a
// multiprocessor.
func (b *blockLimits) resident(info *runtime.Info, threads, bytes int) int {
	return min(info.ThreadsPerUnit/threads, info.RegistersPerUnit/(threads*b.registers),
		info.SharedPerBlock/(bytes+b.reserved))
}

// rowPlan is how kernels go through rows.
type rowPlan struct {
	strategy  *rowStrategy
	parts     int // of a row
	resident  int // blocks of a multiprocessor, where the kernel is compiled for that
	reduction kernels.RowReduction
	grid      runtime.Grid
}

var rowPlans [2]ops.PlanCache[rowPlan] // of softmax and of normalisations

// plan chooses a strategy.
func (c *rowCall) plan(dev *runtime.Device) *rowPlan {
	info := ops.DeviceInfo(dev)
	call := ops.PlanKey{Device: ops.LimitsOf(&info), DType: c.X.DType, X: c.X.Layout, Out: c.out.Layout, Number: c.Dim}
	plans := &rowPlans[0]
	if c.fn.Norm {
		plans = &rowPlans[1]
	}
	if p := plans.Find(&call); p != nil {
		return p
	}
	p := newRowPlan(c.shape(&info, bool(c.fn.Norm)))
	plans.Put(call, p)
	return &p
}

func newRowPlan(r *rowShape) rowPlan {
	reduction, contiguous := r.op.contiguous()
	r.reduction = reduction
	for _, s := range rowStrategies() {
		if !contiguous && !s.strided {
			continue
		}
		if p, ok := s.fits(r); ok {
			p.strategy = &s
			return p
		}
	}
	panic("rows: no strategy fits") // the last one does
}

// rowShape is what the choice of a strategy depends on.
type rowShape struct {
	op        *RowOp
	info      *runtime.Info
	dtype     dtype.DType
	norm      bool
	n, rows   int
	reduction kernels.RowReduction // of contiguous rows
}

func (l *RowOp) shape(info *runtime.Info, norm bool) *rowShape {
	return &rowShape{op: l, info: info, dtype: l.X.DType, norm: norm, n: l.Len(), rows: l.Kept[0].Count()}
}

// lanes is for devices whose blocks are single warps, the lanes of a vector.
func (r *rowShape) lanes() (p rowPlan, ok bool) {
	warp := r.info.WarpSize
	if !ops.TraitsOf(r.info).WarpBlocks || r.n >= tuned.laneRow && r.rows < r.info.Units {
		return p, false
	}
	p.reduction = r.reduction
	w := &p.reduction
	w.Group, w.Whole, w.Runs, w.Wide = dsl.ConstInt(warp), true, true, r.rows > math.MaxInt32
	if k := r.n / warp; k*warp == r.n && k <= tuned.laneItems && k&(k-1) == 0 {
		w.Items, w.Full = dsl.ConstInt(k), true
	}
	p.grid = rowGrid(min(r.rows, 4*r.info.Units), warp)
	return p, true
}

// registers divides a row among threads that keep it: some lanes, a warp or a block.
func (r *rowShape) registers() (p rowPlan, ok bool) {
	if !ops.TraitsOf(r.info).BlockTiles || r.n > tuned.splitRow && r.parts() > 0 {
		return p, false
	}
	n, g, items, first := r.n, 1, 1, tuned.warpItems
	if r.dtype.Size() <= 2 {
		first *= 2 // as many bytes
	}
	for g < r.info.WarpSize && g*first < n {
		g *= 2
	}
	for g*items < n && items < tuned.warpItemsMost {
		items *= 2
	}
	p.reduction = r.reduction
	w, threads, per := &p.reduction, min(ops.MaxThreads, r.info.MaxThreads), 1
	if g*items >= n {
		w.Group, per = dsl.ConstInt(g), threads/g
	} else {
		if threads, items = r.blockOf(threads); threads*items < n {
			return p, false
		}
		w.Block, g = dsl.ConstInt(threads), threads
	}
	w.Items, w.Full, w.Vec, w.Wide = dsl.ConstInt(items), g*items == n, r.vector(items), r.rows > math.MaxInt32
	p.grid = rowGrid(min((r.rows+per-1)/per, math.MaxInt32), threads)
	return p, true
}

// blockOf returns how many threads a block has that keeps a row, and how many items each.
// Blocks of more threads than most leave few registers: they are for rows without a rest.
func (r *rowShape) blockOf(most int) (threads, items int) {
	b := blockLimits{threads: most, items: tuned.blockItems}
	threads, items = b.size(r.info, r.n), tuned.blockItems
	for threads*items < r.n && items < tuned.blockItemsMost {
		items *= 2
	}
	large := 2 * ops.MaxThreads
	full := r.n == large*items || r.n == large*items/2
	if full && items == tuned.blockItemsMost && large <= r.info.MaxThreads {
		return large, r.n / large
	}
	return threads, items
}

// half reports whether elements have 16 bits, of which a row has half the bytes.
func (r *rowShape) half() bool { return r.dtype.Size() == 2 }

// manyLong reports whether rows are long, and so many that each multiprocessor has some, or
// cannot be split.
func (r *rowShape) manyLong() bool {
	return ops.TraitsOf(r.info).BlockTiles && r.n > tuned.splitRow && r.rows <= math.MaxInt32 &&
		(r.rows >= tuned.wavesLeast*r.info.Units || r.parts() == 0)
}

// prefetched has persistent blocks for long rows of F32.
func (r *rowShape) prefetched() (p rowPlan, ok bool) {
	b := &tuned.prefetched
	if r.dtype != dtype.F32 || !r.manyLong() {
		return p, false
	}
	threads := b.size(r.info, r.n)
	items := ops.RoundUp((r.n+threads-1)/threads, 16/r.dtype.Size())
	p.resident = b.resident(r.info, threads, threads*items*r.dtype.Size())
	return r.persistent(p, threads, items), items <= b.items && p.resident > 0
}

// fetched has persistent blocks for normalisations of long rows of 16-bit types.
func (r *rowShape) fetched() (p rowPlan, ok bool) {
	if !r.norm || !r.half() {
		return p, false
	}
	threads, items, resident := r.longHalves()
	if resident == 0 {
		return p, false
	}
	p.resident = resident
	return r.persistent(p, threads, items), true
}

// longHalves returns how many threads a block has for a long row of a 16-bit type, how many
// items each, and how many blocks are resident: 0 if such blocks do not fit.
func (r *rowShape) longHalves() (threads, items, resident int) {
	b := &tuned.fetched
	threads = b.size(r.info, r.n)
	items = ops.RoundUp((r.n+threads-1)/threads, kernels.StageUnroll)
	resident = b.resident(r.info, threads, threads*items*r.dtype.Size())
	if resident < tuned.fetchedLeast || !r.manyLong() {
		return 0, 0, 0
	}
	return threads, items, resident
}

// persistent fills in the plan of as many blocks as are resident, each with one row at a time.
func (r *rowShape) persistent(p rowPlan, threads, items int) rowPlan {
	p.reduction = r.reduction
	w := &p.reduction
	w.Block, w.Items, w.Full, w.Vec = dsl.ConstInt(threads), dsl.ConstInt(items), items*threads == r.n, r.vector(items)
	p.grid = rowGrid(min(r.rows, p.resident*r.info.Units), threads)
	return p
}

// staged has a block for each row of a 16-bit type: as many bytes are in flight then as for rows
// of F32 in registers.
func (r *rowShape) staged() (p rowPlan, ok bool) {
	if !ops.TraitsOf(r.info).BlockTiles || !r.half() || r.n < tuned.halfRow || r.rows > math.MaxInt32 {
		return p, false
	}
	b := blockLimits{threads: ops.MaxThreads, items: tuned.halfItems}
	if r.n <= min(tuned.splitRow, b.items*min(b.threads, r.info.MaxThreads)) {
		return r.inParts(1, b.size(r.info, r.n)), true
	}
	threads, _, resident := r.longHalves()
	if resident == 0 {
		return p, false
	}
	p = r.inParts(1, threads)
	p.resident = resident
	return p, true
}

// split divides a row among blocks, which wait for each other.
func (r *rowShape) split() (p rowPlan, ok bool) {
	parts := r.parts()
	if parts == 0 {
		return p, false
	}
	return r.inParts(parts, tuned.part.threads), true
}

// parts returns into how many parts rows are divided, 0 if they cannot be: all blocks of a row
// must be resident at the same time.
func (r *rowShape) parts() int {
	b := &tuned.part
	if !r.info.Cooperative || r.info.MaxThreads < b.threads || r.dtype.Compute() != dtype.F32 {
		return 0
	}
	part := min(tuned.partBytes/r.dtype.Size(), b.threads*b.items)
	parts := (r.n + part - 1) / part
	resident := r.info.Units * b.resident(r.info, b.threads, tuned.partBytes)
	if parts > b.threads || parts*tuned.concurrent > resident || r.rows > math.MaxInt32/parts {
		return 0
	}
	return parts
}

// inParts is the plan of rows of so many parts at most.
func (r *rowShape) inParts(parts, threads int) (p rowPlan) {
	p.reduction = r.reduction
	w := &p.reduction
	w.Wide = dsl.ConstBool(r.rows*parts > math.MaxInt32)
	w.Part = ops.RoundUp((r.n+parts-1)/parts, kernels.StageUnroll)
	p.parts = (r.n + w.Part - 1) / w.Part
	items := ops.RoundUp((w.Part+threads-1)/threads, kernels.StageUnroll)
	w.Block, w.Items, w.InDiv[0] = dsl.ConstInt(threads), dsl.ConstInt(items), ops.Divisor(p.parts)
	w.Full = p.parts*w.Part == r.n && items*threads == w.Part
	w.Vec = r.vector(items)
	p.grid = rowGrid(p.parts*r.rows, threads)
	return p
}

// any is for all rows.
func (r *rowShape) any() (rowPlan, bool) { return rowPlan{}, true }

// vector is how many neighbours a thread with so many items of a row loads and stores at once.
func (r *rowShape) vector(items int) dsl.ConstInt {
	w, v := &r.reduction, 16/r.dtype.Size()
	if items%v != 0 || w.N%v != 0 {
		return 1
	}
	for d := range int(w.Outs) {
		if w.XStep[d]%v != 0 || w.OutStep[d]%v != 0 {
			return 1
		}
	}
	return dsl.ConstInt(v)
}

func rowGrid(blocks, threads int) runtime.Grid {
	return runtime.Grid{Blocks: runtime.Dim3{X: blocks}, Threads: runtime.Dim3{X: threads}}
}
