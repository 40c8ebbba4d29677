package pass

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/gokiln/kiln/compiler/ir"
)

// machine runs a kernel for one thread, straight from the definition of the
// operations: the reference that optimised modules are compared with.
type machine struct {
	m      *ir.Module
	geom   map[ir.Op]uint64
	memory [][]byte // objects; a pointer is object<<32 | offset
	fuel   int
	static map[*ir.Value]uint64 // local objects: one per OpLocal
	shared []uint64
}

type failure string

func (f failure) Error() string { return string(f) }

// outcome is what a run leaves behind.
type outcome struct {
	Failure string
	Memory  [][]byte
}

const defaultFuel = 200_000

// execute runs m's kernel. Slices become objects with the given contents.
func execute(m *ir.Module, slices [][]byte, scalars []uint64) (out outcome) {
	x := &machine{m: m, fuel: defaultFuel, static: map[*ir.Value]uint64{}}
	x.geom = map[ir.Op]uint64{
		ir.OpThread: 5, ir.OpBlock: 3, ir.OpBlockDim: 64, ir.OpGridDim: 7, ir.OpLane: 5, ir.OpWarp: 0, ir.OpWarpSize: 32,
	}
	var args []uint64
	for _, a := range m.Kernel().Args {
		if a.Kind == ir.ArgScalar {
			args, scalars = append(args, ir.Normalize(a.Elem, scalars[0])), scalars[1:]
			continue
		}
		args = append(args, x.object(append([]byte(nil), slices[0]...)), uint64(len(slices[0])/a.Elem.Size()))
		slices = slices[1:]
	}
	globals := len(x.memory)
	for _, o := range m.Shared {
		x.shared = append(x.shared, x.object(make([]byte, o.Type.Size())))
	}
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failure)
			if !ok {
				panic(r)
			}
			out.Failure = string(f)
		}
		out.Memory = x.memory[:globals]
	}()
	x.call(m.Kernel(), args)
	return out
}

func (x *machine) object(data []byte) uint64 {
	x.memory = append(x.memory, data)
	return uint64(len(x.memory)) << 32
}

func (x *machine) at(p uint64, size int) []byte {
	obj, off := int(p>>32), int(int32(p))
	if obj < 1 || obj > len(x.memory) || off < 0 || off+size > len(x.memory[obj-1]) {
		panic(failure(fmt.Sprintf("wild access: object %d offset %d", obj, off)))
	}
	return x.memory[obj-1][off : off+size]
}

func (x *machine) load(t *ir.Type, p uint64) uint64 {
	var b [8]byte
	copy(b[:], x.at(p, t.Size()))
	return ir.Normalize(t, binary.LittleEndian.Uint64(b[:]))
}

func (x *machine) store(t *ir.Type, p, bits uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], bits)
	copy(x.at(p, t.Size()), b[:])
}

type regs map[*ir.Value]uint64

func (x *machine) call(f *ir.Func, args []uint64) []uint64 {
	r := regs{}
	multi := map[*ir.Value][]uint64{}
	for i, p := range f.Params {
		r[p] = args[i]
	}
	list := func(vs []*ir.Value) []uint64 {
		out := make([]uint64, len(vs))
		for i, v := range vs {
			bits, ok := r[v]
			if !ok {
				panic(fmt.Sprintf("undefined value %d (%s)", v.ID, v.Op))
			}
			out[i] = bits
		}
		return out
	}
	for b := f.Blocks[0]; ; {
		for _, v := range b.Instrs {
			if x.fuel--; x.fuel < 0 {
				panic(failure("out of fuel"))
			}
			switch v.Op {
			case ir.OpCall:
				res := x.call(v.Callee, list(v.Args))
				multi[v] = res
				if len(res) == 1 {
					r[v] = res[0]
				}
			case ir.OpProj:
				r[v] = multi[v.Args[0]][v.Imm]
			default:
				r[v] = x.step(v, list(v.Args))
			}
		}
		var e ir.Edge
		switch b.Term.Kind {
		case ir.TermReturn:
			return list(b.Term.Args)
		case ir.TermJump:
			e = b.Term.Succs[0]
		case ir.TermBranch:
			e = b.Term.Succs[1]
			if list(b.Term.Args)[0] != 0 {
				e = b.Term.Succs[0]
			}
		}
		if x.fuel--; x.fuel < 0 {
			panic(failure("out of fuel"))
		}
		vals := list(e.Args)
		for i, p := range e.To.Params {
			r[p] = vals[i]
		}
		b = e.To
	}
}

func (x *machine) step(v *ir.Value, a []uint64) uint64 {
	if g, ok := x.geom[v.Op]; ok {
		return g
	}
	switch v.Op {
	case ir.OpLocal:
		if _, ok := x.static[v]; !ok {
			x.static[v] = x.object(make([]byte, v.Type.Elem.Size()))
		}
		return x.static[v]
	case ir.OpShared:
		return x.shared[v.Imm]
	case ir.OpIndex, ir.OpOffset:
		return a[0]&^math.MaxUint32 | uint64(uint32(a[0])+uint32(a[1])*uint32(v.Type.Elem.Size()))
	case ir.OpField:
		return a[0] + uint64(v.Args[0].Type.Elem.Offset(int(v.Imm)))
	case ir.OpLoad:
		return x.load(v.Type, a[0])
	case ir.OpStore:
		x.store(v.Args[1].Type, a[0], a[1])
		return 0
	case ir.OpZero:
		clear(x.at(a[0], v.Args[0].Type.Elem.Size()))
		return 0
	case ir.OpBounds:
		if i, n := int64(a[0]), int64(a[1]); i < 0 || i >= n {
			panic(failure(fmt.Sprintf("index %d out of range %d", i, n)))
		}
		return 0
	case ir.OpBarrier, ir.OpWarpBarrier:
		return 0
	case ir.OpShflIdx, ir.OpShflUp, ir.OpShflDown, ir.OpShflXor:
		return a[0]
	case ir.OpBallot:
		return a[0] << 5
	case ir.OpAny, ir.OpAll:
		return a[0]
	case ir.OpAtomicAdd:
		old := x.load(v.Type, a[0])
		sum, _ := ir.Eval(ir.OpAdd, v.Type, 0, []uint64{old, a[1]}, []*ir.Type{v.Type, v.Type})
		x.store(v.Type, a[0], sum)
		return old
	}
	types := make([]*ir.Type, len(a))
	for i, w := range v.Args {
		types[i] = w.Type
	}
	bits, ok := ir.Eval(v.Op, v.Type, v.Imm, a, types)
	if !ok {
		panic(fmt.Sprintf("no meaning for %s : %s", v.Op, v.Type))
	}
	return bits
}
