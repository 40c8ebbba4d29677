package ptx

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// mapAlign is how a tensor map has to be aligned, and mapBytes how long it is.
const (
	mapAlign = 64
	mapBytes = 128
)

// copyTensor writes a bulk copy of a box of a tensor, or of pixels. The map is an argument of the kernel,
// which the instruction takes the address of.
func (e *emitter) copyTensor(v *ir.Value) error {
	if err := e.needCluster(v); err != nil {
		return err
	}
	tensor, err := e.tensorMap(v.Args[1])
	if err != nil {
		return err
	}
	blocks, ok := e.constant(v.Args[len(v.Args)-1])
	if !ok || blocks >= 1<<ir.MaxCluster {
		return fmt.Errorf("the blocks that get a copy are no constant with a bit for each of %d", ir.MaxCluster)
	}
	e.version = max(e.version, 80)
	mode, at, moved := "tile", v.Args[3:6], []*ir.Value(nil)
	if v.Op == ir.OpCopyPixels {
		if mode, at, moved, err = e.pixels(v); err != nil {
			return err
		}
	}
	to, bar := e.pointerReg(b32, e.addressOf(v.Args[0])), e.pointerReg(b32, e.addressOf(v.Args[2]))
	opcode := fmt.Sprintf("cp.async.bulk.tensor.%dd.shared::cluster.global.%s.mbarrier::complete_tx::bytes", len(at), mode)
	if blocks != 0 {
		opcode += ".multicast::cluster"
	}
	coordinates, offsets := e.position(b32, "cvt.u32.u64", at), e.position(b16, "cvt.u16.u64", moved)
	tail := []frag{text("]")}
	if offsets != nil {
		tail = append(append(tail, text(", ")), braces(offsets)...)
	}
	if blocks != 0 {
		tail = append(tail, text(", "), use(e.compute(b16, "mov.b16", number(int64(blocks)))))
	}
	in := e.add(opcode+" [", 0)
	in.frags = append(in.frags, use(to), text("], ["), use(tensor), text(", "))
	in.frags = append(append(in.frags, braces(coordinates)...), text("], ["), use(bar))
	in.frags = append(in.frags, tail...)
	return nil
}

// pixels is the mode of a copy of pixels, their coordinates with the image last, and what they are moved
// by: as many as there are axes (PTX ISA, "im2col mode").
func (e *emitter) pixels(v *ir.Value) (mode string, at, moved []*ir.Value, err error) {
	axes, ok := e.constant(v.Args[11])
	if !ok || axes < 1 || axes > 3 {
		return "", nil, nil, fmt.Errorf("the axes of pixels are no constant from 1 to 3")
	}
	return "im2col", append(slices.Clone(v.Args[3:4+axes]), v.Args[7]), v.Args[8 : 8+axes], nil
}

// storeTensor writes a bulk copy to a box of a tensor, which is a group of its own, or a wait for
// such groups.
func (e *emitter) storeTensor(v *ir.Value) error {
	if err := e.needCluster(v); err != nil {
		return err
	}
	e.version = max(e.version, 80)
	if v.Op == ir.OpStoreWait {
		n, ok := e.constant(v.Args[0])
		if !ok {
			return fmt.Errorf("the number of bulk copies that may be under way is no constant")
		}
		e.add("cp.async.bulk.wait_group.read", 0, number(int64(n)))
		return nil
	}
	tensor, err := e.tensorMap(v.Args[1])
	if err != nil {
		return err
	}
	from := e.pointerReg(b32, e.addressOf(v.Args[0]))
	at := e.position(b32, "cvt.u32.u64", v.Args[2:])
	in := e.add("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [", 0)
	in.frags = append(append(append(in.frags, use(tensor), text(", ")), braces(at)...), text("], ["), use(from), text("]"))
	e.add("cp.async.bulk.commit_group", 0)
	return nil
}

// position is the coordinates of a box, in registers of a class that an instruction makes them for.
func (e *emitter) position(c class, opcode string, list []*ir.Value) (at []reg) {
	for _, x := range list {
		at = append(at, e.compute(c, opcode, e.operand(x, false)))
	}
	return at
}

// tensorMap returns the generic address of the argument whose first word v is.
func (e *emitter) tensorMap(v *ir.Value) (reg, error) {
	v = e.resolve(v)
	at := 0
	starts, _ := ir.Layout(e.f.Args)
	offsets, _ := e.f.ParamOffsets()
	for i, a := range e.f.Args {
		n := a.NumParams()
		j := slices.Index(e.f.Params[at:at+n], v)
		switch {
		case j < 0:
			at += n
			continue
		case a.Kind != ir.ArgStruct || offsets[at+j]+mapBytes > starts[i]+a.Elem.Size():
			return 0, fmt.Errorf("%s is no tensor map", a.Name)
		case offsets[at+j]%mapAlign != 0 || starts[i]%mapAlign != 0:
			return 0, fmt.Errorf("the tensor map %s is at byte %d of the arguments, and the instruction wants a multiple of %d: make tensor maps the first parameters", a.Name, offsets[at+j], mapAlign)
		}
		e.maps[at] = true
		r := e.compute(b64, "mov.b64", text(paramName(e.f, at)))
		if more := offsets[at+j] - starts[i]; more > 0 {
			r = e.compute(b64, "add.s64", use(r), number(int64(more)))
		}
		return e.compute(b64, "cvta.param.u64", use(r)), nil
	}
	return 0, fmt.Errorf("a tensor map is no parameter of the kernel")
}

// arriveRemote writes an arrival at a barrier of another block of the cluster.
func (e *emitter) arriveRemote(v *ir.Value) error {
	if err := e.needCluster(v); err != nil {
		return err
	}
	e.version = max(e.version, 80)
	bar := e.pointerReg(b32, e.addressOf(v.Args[0]))
	block := e.compute(b32, "cvt.u32.u64", e.operand(v.Args[1], false))
	there := e.compute(b32, "mapa.shared::cluster.u32", use(bar), use(block))
	in := e.add("mbarrier.arrive.shared::cluster.b64 _, [", 0)
	in.frags = append(in.frags, use(there), text("]"))
	return nil
}

func (e *emitter) needCluster(v *ir.Value) error {
	if e.t.CC < 90 {
		return fmt.Errorf("%s: bulk copies and clusters of blocks exist from sm_90 on", v.Op)
	}
	return nil
}
