package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/amd64/image"
	"github.com/gokiln/kiln/compiler/amd64/regalloc"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/pass"
	"github.com/gokiln/kiln/compiler/target"
)

// newEmitter analyses a kernel whose loops are closed.
func newEmitter(m *ir.Module, f *ir.Func, c *code, general, wholeWarps bool) (*emitter, error) {
	g, err := analysis.NewLayout(f)
	if err != nil {
		return nil, err
	}
	e := &emitter{Lanes: analysis.LanesOf(g, general, c.isa.lanes()), code: c, m: m, ranges: analysis.RangesOf(f)}
	e.findFull(wholeWarps)
	n := f.NumValues()
	e.vals, e.spreads, e.near = make([]val, n), make([]val, n), map[*ir.Value]spreadIn{}
	e.findLazy()
	e.findFused()
	e.findNegated()
	e.findMixed()
	e.findLookups()
	e.findWanted()
	e.findLimits()
	e.prefetched = e.newPrefetches()
	at := 0
	for _, o := range m.Shared {
		at = (at + o.Type.Align() - 1) / o.Type.Align() * o.Type.Align()
		if o.Dynamic {
			at = (at + image.ContextAlign - 1) &^ (image.ContextAlign - 1)
		}
		e.shared = append(e.shared, int32(at))
		at += o.Type.Size()
	}
	for _, l := range []*label{&e.blockStart, &e.body, &e.end, &e.leave, &e.fault, &e.meet, &e.setResume} {
		*l = e.newLabel()
	}
	return e, nil
}

// kernel emits the whole code of the entry.
func (e *emitter) kernel() error {
	e.prepare()
	e.masks[0] = e.mask()
	e.bind(e.newLabel())
	e.entryCode()
	for i := range e.Blocks {
		if err := e.block(i); err != nil {
			return err
		}
	}
	e.exitCode()
	for n := 0; n < len(e.cold); n++ { // which may add more
		e.cold[n]()
	}
	if len(e.sites) > 0 {
		e.faultCode()
	}
	return nil
}

// Options controls [Options.Emit].
type Options struct {
	Disable []string                        // passes of [pass.Vector] to leave out
	After   func(pass string, m *ir.Module) // if not nil, is called after every one that ran
}

// Emit is Emit of no options.
func Emit(m *ir.Module, t target.Target) ([]byte, error) { return Options{}.Emit(m, t) }

// Emit compiles a kernel into a native image, see package image. What the code cannot do, printing
// and barriers of the grid, it leaves to the interpreter with [image.ErrInterp]. The module is of
// no use for another target then.
func (o Options) Emit(m *ir.Module, t target.Target) ([]byte, error) {
	im, _, err := o.build(m, t)
	if err != nil {
		return nil, err
	}
	return im.Encode()
}

// traits is what the code needs to know of a kernel beforehand.
type traits struct {
	barriers, prints bool
	warps            bool // threads of a warp communicate
	lanes            bool // it matters which threads make a warp
	dots             bool // there are dot products of bytes
	packed           bool // there are products of packed factors
}

func traitsOf(f *ir.Func) (t traits) {
	for _, b := range f.Blocks {
		for _, v := range b.Instrs {
			switch v.Op {
			case ir.OpBarrier:
				t.barriers = true
			case ir.OpPrint, ir.OpDivisor, ir.OpCount, ir.OpCall, ir.OpGridBarrier,
				ir.OpMBarInit, ir.OpMBarArrive, ir.OpMBarExpect, ir.OpMBarTest:
				t.prints = true
			case ir.OpLane, ir.OpWarp:
				t.lanes = true
			case ir.OpDot4:
				t.dots = true
			case ir.OpPackedMMA:
				t.packed, t.warps, t.lanes = true, true, true
			default:
				if v.Op.Has(ir.Convergent) {
					t.warps, t.lanes = true, true
				}
			}
		}
	}
	return t
}

// generate emits and allocates one entry.
func generate(m *ir.Module, f *ir.Func, c *code, tr traits, sites []image.Site, general bool) (*emitter, regalloc.Result, error) {
	e, err := newEmitter(m, f, c, general, tr.warps)
	if err != nil {
		return nil, regalloc.Result{}, err
	}
	e.barriers, e.sites = tr.barriers, sites
	if err := e.kernel(); err != nil {
		return nil, regalloc.Result{}, err
	}
	if err := e.resolve(); err != nil {
		return nil, regalloc.Result{}, err
	}
	e.dropDead()
	cfg := regalloc.V4(e.locals)
	if c.isa == v3 {
		cfg = regalloc.V3(e.locals)
	}
	res, err := allocate(c.f, cfg)
	if err != nil {
		return nil, res, err
	}
	res.FrameSize = (res.FrameSize + 63) &^ 63
	e.patchFrames(res.FrameSize)
	return e, res, nil
}

// patchFrames puts the size of a frame where it was not known yet.
func (e *emitter) patchFrames(size int) {
	for _, b := range e.f.Blocks {
		for i := range b.Insts {
			if in := &b.Insts[i]; in.Op == asm.ADD && in.Args[0].Reg == frame && in.Args[1].Imm == frameSize {
				in.Args[1].Imm = int64(size)
			}
		}
	}
}

// build makes the image of a kernel, and the listing of its code if asked to.
func (o Options) build(m *ir.Module, t target.Target) (*image.Image, []listed, error) {
	f := m.Kernel()
	tr := traitsOf(f)
	if tr.prints {
		return nil, nil, image.ErrInterp
	}
	level := v4
	if t.WarpSize == 8 {
		level = v3
	}
	passes := pass.Options{Disable: o.Disable, After: o.After, WarpSize: level.lanes()}
	if err := pass.RunVector(m, passes); err != nil {
		return nil, nil, err
	}
	im := &image.Image{
		Kernel: f.Name, ISA: t.Arch, Warp: level.lanes(), General: image.None,
		Barriers: tr.barriers, WarpOps: tr.warps,
	}
	_, im.Args = f.ParamOffsets()
	for _, o := range m.Shared {
		im.Shared = (im.Shared+o.Type.Align()-1)/o.Type.Align()*o.Type.Align() + o.Type.Size()
	}
	im.Length = m.DynamicLength()
	var a asm.Assembler
	var list []listed
	consts := &poolOf{at: map[string]int64{}}
	ways := tr.ways()
	for i, x := range ways {
		c := newCode(level, consts)
		c.vnni, c.pairs, c.amx = x.vnni, x.pairs, x.tiles
		if !x.general && (i == 0 || ways[i-1].general) {
			if err := pass.RunRows(m, passes); err != nil {
				return nil, nil, err
			}
		}
		x.add(im, a.Len())
		e, res, err := generate(m, f, c, tr, im.Sites, x.general)
		if err != nil {
			return nil, nil, err
		}
		im.FrameSize = max(im.FrameSize, res.FrameSize)
		im.Sites, im.Local = e.sites, e.locals/level.lanes()
		if err := a.Func(len(c.f.Blocks), func(i int) []asm.Inst { return c.f.Blocks[i].Insts }); err != nil {
			return nil, nil, err
		}
		list = append(list, listed{x, c.f, consts})
	}
	code, _, err := a.Finish(consts.bytes)
	im.Code = code
	return im, list, err
}

// way is an entry point of the code of a kernel.
type way struct {
	general bool // which threads are where is in a table
	vnni    bool // for processors with dot products of bytes
	pairs   bool // for processors with dot products of pairs of bfloat16, which have those, too
	tiles   bool // for processors with tile registers, which have all of these
}

// ways returns the entry points that a kernel needs, the one for the table first: only the other is
// peeled.
func (t *traits) ways() (list []way) {
	for _, general := range []bool{true, false} {
		if general && !t.lanes { // only blocks whose rows are not whole vectors need it
			continue
		}
		list = append(list, way{general: general})
		if t.dots {
			list = append(list, way{general: general, vnni: true})
		}
		if t.packed {
			list = append(list, way{general: general, vnni: true, pairs: true}, way{general: general, vnni: true, pairs: true, tiles: true})
		}
	}
	return list
}

// add notes where the code of the entry point is.
func (x way) add(im *image.Image, at int) {
	rows, general := &im.Rows, &im.General
	if x.vnni {
		of := &im.VNNI
		switch {
		case x.tiles:
			of = &im.Tiles
		case x.pairs:
			of = &im.Pairs
		}
		if *of == nil {
			*of = &image.Entries{General: image.None}
		}
		rows, general = &(*of).Rows, &(*of).General
	}
	if x.general {
		*general = at
	} else {
		*rows = at
	}
}

// listed is the code of an entry point of a kernel, for people.
type listed struct {
	way
	f      *regalloc.Func
	consts *poolOf
}
