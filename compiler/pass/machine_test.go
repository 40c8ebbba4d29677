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
	tests  int                  // of all lanes that have been made
	static map[*ir.Value]uint64 // local objects: one per OpLocal
	shared []uint64

	public uint64                         // global and shared objects come first
	frozen bool                           // global and shared memory ignores stores
	trace  func(v *ir.Value, bits uint64) // called for every value computed
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
func execute(m *ir.Module, slices [][]byte, scalars []uint64) outcome {
	return newMachine(m).run(slices, scalars)
}

func newMachine(m *ir.Module) *machine {
	x := &machine{m: m, fuel: defaultFuel, static: map[*ir.Value]uint64{}}
	x.geom = map[ir.Op]uint64{
		ir.OpThread: 5, ir.OpBlock: 3, ir.OpBlockDim: 64, ir.OpGridDim: 7, ir.OpLane: 5, ir.OpWarp: 0, ir.OpWarpSize: 32,
	}
	return x
}

func (x *machine) run(slices [][]byte, scalars []uint64) (out outcome) {
	m := x.m
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
	x.public = uint64(len(x.memory))
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
	if x.frozen && p>>32 <= x.public {
		return
	}
	binary.LittleEndian.PutUint64(b[:], bits)
	copy(x.at(p, t.Size()), b[:])
}

func (x *machine) call(f *ir.Func, args []uint64) []uint64 {
	r := make([]uint64, f.NumValues())
	set := make([]bool, f.NumValues())
	multi := map[*ir.Value][]uint64{}
	assign := func(v *ir.Value, bits uint64) {
		r[v.ID], set[v.ID] = bits, true
		if x.trace != nil {
			x.trace(v, bits)
		}
	}
	for i, p := range f.Params {
		assign(p, args[i])
	}
	var buf [8]uint64
	read := func(vs []*ir.Value, out []uint64) []uint64 {
		for _, v := range vs {
			if !set[v.ID] {
				panic(fmt.Sprintf("undefined value %d (%s)", v.ID, v.Op))
			}
			out = append(out, r[v.ID])
		}
		return out
	}
	for b := f.Blocks[0]; ; {
		x.fuel -= len(b.Instrs) + 1
		if x.fuel < 0 {
			panic(failure("out of fuel"))
		}
		for _, v := range b.Instrs {
			switch v.Op {
			case ir.OpConst:
				assign(v, v.Imm)
			case ir.OpCall:
				multi[v] = x.call(v.Callee, read(v.Args, nil))
				if len(multi[v]) == 1 {
					assign(v, multi[v][0])
				}
			case ir.OpProj:
				assign(v, multi[v.Args[0]][v.Imm])
			default:
				assign(v, x.step(v, read(v.Args, buf[:0])))
			}
		}
		var e ir.Edge
		switch b.Term.Kind {
		case ir.TermReturn:
			return read(b.Term.Args, nil)
		case ir.TermJump:
			e = b.Term.Succs[0]
		case ir.TermBranch:
			e = b.Term.Succs[1]
			if read(b.Term.Args, buf[:0])[0] != 0 {
				e = b.Term.Succs[0]
			}
		}
		vals := read(e.Args, buf[:0])
		for i, p := range e.To.Params {
			assign(p, vals[i])
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
	case ir.OpLoad, ir.OpLoadBytes:
		return x.load(v.Type, a[0])
	case ir.OpStore:
		x.store(v.Args[1].Type, a[0], a[1])
		return 0
	case ir.OpZero:
		if !x.frozen || a[0]>>32 > x.public {
			clear(x.at(a[0], v.Args[0].Type.Elem.Size()))
		}
		return 0
	case ir.OpBounds:
		if i, n := int64(a[0]), int64(a[1]); i < 0 || i >= n {
			panic(failure(fmt.Sprintf("index %d out of range %d", i, n)))
		}
		return 0
	case ir.OpNonNil:
		if a[0] == 0 {
			panic(failure("nil"))
		}
		return 0
	case ir.OpDivisor:
		if a[1] == 0 {
			panic(failure("divide by zero"))
		}
		return 0
	case ir.OpCount:
		if int64(a[0]) < 0 {
			panic(failure("negative shift"))
		}
		return 0
	case ir.OpBarrier, ir.OpGridBarrier, ir.OpWarpBarrier:
		return 0
	case ir.OpShflIdx, ir.OpShflUp, ir.OpShflDown, ir.OpShflXor:
		return a[0]
	case ir.OpBallot:
		return a[0] << 5
	case ir.OpAny, ir.OpAll:
		return a[0]
	case ir.OpWhole: // of the other lanes each may be such that it does not hold
		x.tests++
		held := uint64(x.tests % 2)
		for _, b := range a {
			held &= b
		}
		return held
	case ir.OpAtomicAdd:
		old := x.load(v.Type, a[0])
		sum, _ := ir.Eval(ir.OpAdd, v.Type, 0, []uint64{old, a[1]}, []*ir.Type{v.Type, v.Type})
		x.store(v.Type, a[0], sum)
		return old
	}
	var types [3]*ir.Type
	for i, w := range v.Args {
		types[i] = w.Type
	}
	bits, ok := ir.Eval(v.Op, v.Type, v.Imm, a, types[:len(a)])
	if !ok {
		panic(fmt.Sprintf("no meaning for %s : %s", v.Op, v.Type))
	}
	return bits
}
