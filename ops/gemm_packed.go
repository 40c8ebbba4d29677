package ops

import (
	"reflect"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

var (
	packingType, tilingType = reflect.TypeFor[kernels.Packing](), reflect.TypeFor[kernels.Tiling]()

	pack = family{name: "matmul", kernel: jit.Of(kernels.Pack[float32, float32]), params: func(t, c reflect.Type) []reflect.Type {
		return []reflect.Type{reflect.SliceOf(c), reflect.SliceOf(t), walkType, packingType}
	}}
	packed = family{name: "matmul", kernel: jit.Of(kernels.Packed[float32, float32]), params: func(o, c reflect.Type) []reflect.Type {
		return []reflect.Type{reflect.SliceOf(o), reflect.SliceOf(c), reflect.SliceOf(c), walkType, productType, tilingType, function(3, c, c)}
	}}
)

// tiling is the tile that fits into the vector registers of a processor: those of
// eight lanes have 16, wider ones 32. A vector has half as many 64-bit numbers.
func tiling(warp int, c dtype.DType) kernels.Tiling {
	t := kernels.Tiling{High: 8, Each: 3, Wide: dsl.ConstInt(warp)}
	if warp <= 8 {
		t.High, t.Each = 4, 2
	}
	if c.Size() > 4 {
		t.Each = 1
	}
	return t
}

// fit makes tiles less wide where that leaves fewer columns of the last ones unused, which
// must be worth that each element of x is loaded more often.
func fit(t kernels.Tiling, columns int) kernels.Tiling {
	narrow := t
	narrow.Each--
	if t.Each > 2 && up(columns, int(narrow.Wide*narrow.Each))*21 < up(columns, int(t.Wide*t.Each))*20 {
		return narrow
	}
	return t
}

// tall makes tiles of four rows six rows high, of which each element of y that is loaded is
// used more often, where that leaves few rows of the last ones unused.
func tall(t kernels.Tiling, rows int) kernels.Tiling {
	const most = 6
	if t.High < most && up(rows, most)*20 <= up(rows, int(t.High))*21 {
		t.High = most
	}
	return t
}

// runPacked packs both operands and multiplies them.
func runPacked(s *runtime.Stream, p *product) error {
	c := p.a.DType.Compute()
	cfg := tall(fit(tiling(p.info.WarpSize, c), p.N), p.M)
	xs, err := p.packing(s, p.a, 1, p.M, p.XM, p.XK, cfg.High)
	if err != nil {
		return err
	}
	ys, err := p.packing(s, p.b, 2, p.N, p.YN, p.YK, cfg.Wide*cfg.Each)
	if err != nil {
		return err
	}
	if err := p.plan(s); err != nil { // with the numbers of packed matrices
		return err
	}
	numbered(&p.walk)
	parts := p.serialParts()
	if err := p.prefetchPacked(s.Device(), &xs, &ys, cfg, parts); err != nil {
		return err
	}
	if err := xs.run(s); err != nil {
		return err
	}
	if err = ys.run(s); err == nil {
		err = p.withParts(s, parts, func(out View) error { return p.launchPacked(s, out, xs.to, ys.to, cfg) })
		if e := ys.to.Buf.FreeOn(s); err == nil {
			err = e
		}
	}
	if e := xs.to.Buf.FreeOn(s); err == nil {
		err = e
	}
	return err
}

// packing is an operand that is to be packed in bands.
type packing struct {
	kernel   *jit.Kernel
	from, to View // to has no memory before the operand is packed
	walk     kernels.Walk
	cfg      kernels.Packing
	grid     runtime.Grid
}

// packing plans how operand i, with rows and strides across and along k, is packed. Matrices
// that are all the same are packed once.
func (p *product) packing(s *runtime.Stream, v View, i, rows, across, inner int, high dsl.ConstInt) (k packing, err error) {
	shape := p.batch[i].Shape()
	n := p.Batch
	index := layout.Contiguous(shape)
	if !slices.ContainsFunc(p.batch[i].Strides(), func(n int) bool { return n != 0 }) {
		n, index = 1, along(shape, nil)
	}
	t := v.DType
	if k.kernel, err = pack.of(t, t.Compute()); err != nil {
		return k, err
	}
	k.cfg = kernels.Packing{Rows: rows, K: p.K, Across: across, Along: inner, Batch: n, High: high, Way: kernels.AlongK, Unit: inner == 1}
	if across == 1 && inner != 1 && int(high)%p.info.WarpSize == 0 {
		k.cfg.Way, k.cfg.Unit = kernels.AcrossK, true
	}
	bands := up(rows, int(high)) / int(high)
	k.from, k.to = v, View{DType: t.Compute(), Layout: layout.Contiguous(layout.Shape{n * bands * int(high) * p.K})}
	var unused runtime.Grid
	if _, err := walkOver(s, &k.walk, &unused, p.batch[i]); err != nil {
		return k, err
	}
	anyOrder(&k.walk, p.Batch)
	numbered(&k.walk)
	k.grid = runtime.Grid{Blocks: runtime.Dim3{X: bands, Y: min(n, mostBlocks)}, Threads: runtime.Dim3{X: p.info.WarpSize}}
	p.batch[i] = index
	return k, nil
}

// numbered makes a walk over matrices that lie one after the other the general one of a single
// dimension: a block asks it once for each matrix, so one product shares its kernels with several.
func numbered(w *kernels.Walk) {
	if w.Mode != kernels.Flat {
		return
	}
	w.Mode, w.Rank, w.Size[0], w.Div[0] = kernels.Dims, 1, w.N, divisor(w.N)
	for k := range w.Step {
		w.Step[k][0] = 1
	}
}

// run packs the operand, into memory that is the caller's if there is no error.
func (k *packing) run(s *runtime.Stream) (err error) {
	if k.to.Buf, err = s.Alloc(k.to.Layout.Count() * k.to.DType.Size()); err != nil {
		return err
	}
	dst, src := k.to.header(), k.from.header()
	if err = k.kernel.Launch(s, k.grid, slice(k.to.DType, &dst), slice(k.from.DType, &src), k.walk, k.cfg); err != nil {
		_ = k.to.Buf.FreeOn(s) // the launch's error is the one that counts
	}
	return err
}

// prefetchPacked has the kernels compiled at the same time.
func (p *product) prefetchPacked(dev *runtime.Device, xs, ys *packing, cfg kernels.Tiling, parts int) error {
	if parts > 1 && p.batch[0].Rank() > 0 {
		return nil // partial sums have another layout, of which addParts decides
	}
	c, out := p.a.DType.Compute(), p.out.DType
	if parts > 1 {
		out = out.Compute()
	}
	k, err := packed.of(out, c)
	if err != nil {
		return err
	}
	cfg.Unit = p.OutN == 1 || parts > 1
	if k.Loaded(dev, nil, nil, nil, p.walk, nil, cfg, mad(c)) {
		return nil
	}
	return jit.Prefetch(dev,
		jit.Wanted{Kernel: xs.kernel, Consts: []any{xs.walk, xs.cfg}},
		jit.Wanted{Kernel: ys.kernel, Consts: []any{ys.walk, ys.cfg}},
		jit.Wanted{Kernel: k, Consts: []any{p.walk, cfg, mad(c)}})
}

// serialParts is into how many parts the sums of packed operands are divided: what a panel
// of y has for one is to stay in a cache, if the parts of the sums are not more than that,
// and no chain of additions is to be long.
func (p *product) serialParts() int {
	const part = 1024
	p.Part = p.K
	if parts := p.K / part; parts > 3 && parts*p.M*p.N/2 <= (p.M+p.N)*p.K {
		p.Part = part
	}
	if p.a.DType.IsFloat() {
		p.Part = min(p.Part, p.run())
	}
	return (p.K + p.Part - 1) / p.Part
}

// sharing is how many bands of a block share a panel of y, which comes from far once for
// them: as many as stay in the processor's cache from panel to panel, if there are blocks
// enough for all processors then.
func (p *product) sharing(bands, column, panels, wide int) int {
	const cached, least, blocks = 1 << 20, 16, 4
	most := max(least, min(cached/(column*p.Part), p.info.MaxThreads/wide))
	for most > least && (bands+most-1)/most*panels*p.Batch < blocks*p.info.Units {
		most /= 2
	}
	return min(most, bands, p.info.MaxThreads/wide)
}

func (p *product) launchPacked(s *runtime.Stream, out, xs, ys View, cfg kernels.Tiling) error {
	bands := (p.M + int(cfg.High) - 1) / int(cfg.High)
	width := int(cfg.Wide * cfg.Each)
	c := xs.DType
	k, err := packed.of(out.DType, c)
	if err != nil {
		return err
	}
	cfg.Unit = p.OutN == 1
	high := p.sharing(bands, int(cfg.High)*c.Size(), (p.N+width-1)/width, int(cfg.Wide))
	g := runtime.Grid{
		Blocks:  runtime.Dim3{X: (p.N + width - 1) / width, Y: (bands + high - 1) / high, Z: min(p.Batch*((p.K+p.Part-1)/p.Part), mostBlocks)},
		Threads: runtime.Dim3{X: int(cfg.Wide), Y: high},
	}
	to, x, y := out.header(), xs.header(), ys.header()
	return k.Launch(s, g, slice(out.DType, &to), slice(c, &x), slice(c, &y), p.walk, p.Product, cfg, mad(c))
}
