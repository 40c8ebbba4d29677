package llvm

import "github.com/gokiln/kiln/compiler/ir"

// memoryRows writes loads, stores and atomics for each address space. What a
// kernel reads of shared and local memory before it was written may be anything,
// but it must be something: without freeze, LLVM could take a branch on it for
// one that never happens.
func memoryRows() []row {
	var out []row
	for _, space := range []ir.Space{ir.Global, ir.Shared, ir.Local, ir.Constant} {
		add := func(op ir.Op, on kinds, asm string) {
			out = append(out, row{op: op, on: on, sub: spaceSub + int(space), isa: all, asm: asm})
		}
		load := func(to, t, align string) string {
			if space == ir.Global || space == ir.Constant {
				return to + " = load " + t + ", {p} $a, align " + align
			}
			return "$9 = load " + t + ", {p} $a, align " + align + "; " + to + " = freeze " + t + " $9"
		}
		add(ir.OpLoad, scalars&^boolean, load("$d", "{t}", "{bytes}"))
		add(ir.OpLoad, pointers, load("$d", "{t}", "8"))
		add(ir.OpLoad, boolean, load("$0", "i8", "1")+"; $d = icmp ne i8 $0, 0")
		if space == ir.Constant {
			continue
		}
		add(ir.OpStore, scalars&^boolean, "store {t} $b, {p} $a, align {bytes}")
		add(ir.OpStore, pointers, "store {t} $b, {p} $a, align 8")
		add(ir.OpStore, boolean, "$0 = zext i1 $b to i8; store i8 $0, {p} $a, align 1")
		if space == ir.Local {
			continue
		}
		out = append(out, atomicRows(space)...)
	}
	return out
}

// atomicRows writes atomics of device scope without order. Floats are exchanged
// and compared as patterns.
func atomicRows(space ir.Space) []row {
	var out []row
	add := func(op ir.Op, on kinds, asm string) {
		out = append(out, row{op: op, on: on, sub: spaceSub + int(space), isa: all, asm: asm})
	}
	const order = " {device} monotonic, align {bytes}"
	whole := int32s | int64s
	for op, name := range map[ir.Op]string{
		ir.OpAtomicAdd: "add", ir.OpAtomicAnd: "and", ir.OpAtomicOr: "or", ir.OpAtomicXor: "xor", ir.OpAtomicExch: "xchg",
	} {
		add(op, whole, "$d = atomicrmw "+name+" {p} $a, {t} $b"+order)
	}
	for op, name := range map[ir.Op]string{ir.OpAtomicMin: "min", ir.OpAtomicMax: "max"} {
		add(op, whole&signed, "$d = atomicrmw "+name+" {p} $a, {t} $b"+order)
		add(op, whole&unsigned, "$d = atomicrmw u"+name+" {p} $a, {t} $b"+order)
	}
	const toBits, toFloat = " = bitcast {t} %s to {int}; ", "; $d = bitcast {int} $0 to {t}"
	const cas = " = cmpxchg {p} $a, {int} %s, {int} %s {device} monotonic monotonic, align {bytes}; "
	add(ir.OpAtomicAdd, floats, "$d = atomicrmw fadd {p} $a, {t} $b"+order)
	add(ir.OpAtomicExch, floats, "$1"+fill(toBits, "$b")+"$0 = atomicrmw xchg {p} $a, {int} $1"+order+toFloat)
	add(ir.OpAtomicCAS, ints, "$1"+fill(cas, "$b", "$c")+"$d = extractvalue { {int}, i1 } $1, 0")
	add(ir.OpAtomicCAS, floats, "$1"+fill(toBits, "$b")+"$2"+fill(toBits, "$c")+"$3"+fill(cas, "$1", "$2")+"$0 = extractvalue { {int}, i1 } $3, 0"+toFloat)
	add(ir.OpAtomicLoad, ints, "$d = load atomic {t}, {p} $a"+order)
	add(ir.OpAtomicLoad, floats, "$0 = load atomic {int}, {p} $a"+order+toFloat)
	add(ir.OpAtomicStore, ints, "store atomic {t} $b, {p} $a"+order)
	add(ir.OpAtomicStore, floats, "$1"+fill(toBits, "$b")+"store atomic {int} $1, {p} $a"+order)
	add(ir.OpAtomicAdd, of(ir.KF16), addHalf(ir.KF16))
	add(ir.OpAtomicAdd, of(ir.KBF16), addHalf(ir.KBF16))
	return out
}

// addHalf adds to a half in memory by exchanging it until nobody came between.
func addHalf(k ir.Kind) string {
	const cas = "$6 = cmpxchg {p} $a, i16 $d, i16 $5 {device} monotonic monotonic, align 2; $7 = extractvalue { i16, i1 } $6, 0; $8 = extractvalue { i16, i1 } $6, 1; "
	return toFloat32("$1", "$b", k, 10) + "$0 = load atomic i16, {p} $a {device} monotonic, align 2; br label $L0; $L0:; " +
		"$d = phi i16 [ $0, $P ], [ $7, $L0 ]; " + toFloat32("$2", "$d", k, 20) + "$3 = fadd float $2, $1; " +
		fromFloat32("$5", "$3", k, 30) + cas + "br i1 $8, label $L1, label $L0; $L1:"
}
