package ptx

import (
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// This file runs the subset of PTX that Emit writes, as the PTX ISA defines it
// and, where the ISA leaves a result open, with the one that is hardest on the
// emitter: division by zero gives all ones, NaN converts to the smallest 64-bit
// integer, registers start unwritten and reading one is an error.

type simSpace map[string]int // names of objects to their addresses

type simProgram struct {
	code    []simInst
	regs    map[string]int
	width   []int // bits by register
	params  map[string]int
	args    int // bytes of the argument block
	shared  simSpace
	local   simSpace
	nShared int
	nLocal  int
	buffers [][]byte
	early   bool // asynchronous copies are made at once
	at      int  // the instruction that runs, for messages
	cluster int  // blocks
}

// simInst is a decoded instruction: exec for one thread, or a collective.
type simInst struct {
	text  string
	exec  func(t *simThread)
	group string // "bar", "shfl" or "vote" for instructions of many threads
	mods  []string
	ops   []simOperand
}

type simThread struct {
	p       *simProgram
	pc      int
	regs    []uint64
	state   []simState // of registers
	local   []byte
	block   *simBlock
	tid     [3]int
	id      int
	done    bool
	waiting bool
	visits  map[int]int // of branches marked as uniform
	stores  []func()    // bulk copies to global memory that may not be over
	polled  bool        // found a phase that is not complete: others take their turn
	copies  []func()    // begun, and in no group yet
	busy    []int       // registers of products under way
	wrote   []int       // bytes of shared memory, since the last fence.proxy.async
	groups  [][]func()  // of copies to be made when the thread waits for them
}

// simState is what a register may be used for.
type simState uint8

const (
	simWritten  simState = 1 << iota
	simInFlight          // a product that is not over will change it
	simRead              // a product that is not over reads it
)

// mark adds a register to those of products under way.
func (t *simThread) mark(reg int, s simState) {
	t.state[reg] |= s
	t.busy = append(t.busy, reg)
}

// unmark says that all products of the thread are over.
func (t *simThread) unmark() {
	for _, reg := range t.busy {
		t.state[reg] &= simWritten
	}
	t.busy = t.busy[:0]
}

type simBlock struct {
	special map[string]uint64 // registers that all threads have the same number in
	shared  []byte
	args    []byte
	// blocks of its cluster, itself among them; bulk copies that may be late, and bytes that phases
	// of barriers lack
	cluster []*simBlock
	ended   bool // all of its threads, and its shared memory with them
	bulk    []func()
	bytes   map[int]int
	dirty   []bool            // bytes of shared memory that warpgroups must not read yet
	groups  map[int]*simGroup // products of warpgroups
	taken   map[simVisit]bool // what branches marked as uniform did
}

// simVisit is the arrival of a warp at an instruction, counted from 1.
type simVisit struct{ warp, pc, n int }

// together checks that all threads of a warp go the same way at a branch marked
// as uniform.
func (t *simThread) together(taken bool) {
	if t.visits == nil {
		t.visits = map[int]int{}
	}
	t.visits[t.pc]++
	at := simVisit{t.id / 32, t.pc, t.visits[t.pc]}
	if t.block.taken == nil {
		t.block.taken = map[simVisit]bool{}
	}
	if before, ok := t.block.taken[at]; ok && before != taken {
		panic(fmt.Sprintf("instruction %d: a branch marked as uniform parts the threads of a warp", t.pc))
	}
	t.block.taken[at] = taken
}

// simOperand reads or writes: a register, an immediate, an address, or a pair.
type simOperand struct {
	text string
	reg  int // -1 if none
	imm  uint64
	off  int64
	pair []simOperand
}

func (p *simProgram) operand(s string) simOperand {
	s = strings.TrimSpace(s)
	o := simOperand{text: s, reg: -1}
	switch {
	case strings.HasPrefix(s, "{"):
		for _, x := range strings.Split(strings.Trim(s, "{}"), ",") {
			o.pair = append(o.pair, p.operand(x))
		}
	case strings.HasPrefix(s, "["):
		base := strings.Trim(s, "[]")
		if name, off, ok := strings.Cut(base, "+"); ok {
			n, err := strconv.ParseInt(off, 10, 32)
			if err != nil {
				panic("offset " + off)
			}
			o.off, base = n, name
		}
		b := p.operand(base)
		o.reg, o.imm = b.reg, b.imm
	case strings.HasPrefix(s, "0f"), strings.HasPrefix(s, "0d"):
		o.imm, _ = strconv.ParseUint(s[2:], 16, 64)
	default:
		if r, ok := p.regs[s]; ok {
			o.reg = r
		} else if a, ok := p.shared[s]; ok {
			o.imm = uint64(a)
		} else if a, ok := p.local[s]; ok {
			o.imm = uint64(a)
		} else if a, ok := p.params[s]; ok {
			o.imm = uint64(a)
		} else if v, err := strconv.ParseInt(s, 0, 64); err == nil {
			o.imm = uint64(v)
		} else if v, err := strconv.ParseUint(s, 0, 64); err == nil {
			o.imm = v
		} else if s[0] != '%' && s[0] != '$' && s != "_" {
			panic("operand " + s)
		}
	}
	return o
}

func (o *simOperand) get(t *simThread) uint64 {
	if o.reg >= 0 && t.state[o.reg]&(simWritten|simInFlight) == simWritten {
		return t.regs[o.reg]
	}
	switch {
	case o.pair != nil:
		return o.pair[0].get(t) | o.pair[1].get(t)<<32
	case o.reg < 0:
		return o.imm
	case t.state[o.reg]&simWritten == 0:
		panic("register read before it is written: " + o.text)
	}
	panic("register read before the product is waited for: " + o.text)
}

func (o *simOperand) set(t *simThread, v uint64) {
	if o.pair != nil {
		o.pair[0].set(t, v&math.MaxUint32)
		o.pair[1].set(t, v>>32)
		return
	}
	if w := t.p.width[o.reg]; w < 64 {
		v &= 1<<w - 1
	}
	if t.state[o.reg]&(simInFlight|simRead) != 0 {
		panic("register written before the product is waited for: " + o.text)
	}
	t.regs[o.reg] = v
	t.state[o.reg] |= simWritten
}

// What LLVM writes: comments behind code, and the operands of mma.sync on lines of their own.
var (
	comments     = regexp.MustCompile(`(?m)//.*$`)
	operandLines = regexp.MustCompile(`\n\s*(\{%[^}]*\})`)
)

func simParse(text string) *simProgram {
	p := &simProgram{regs: map[string]int{}, params: map[string]int{}, shared: simSpace{}, local: simSpace{}}
	labels := map[string]int{}
	var lines []string
	text = operandLines.ReplaceAllString(comments.ReplaceAllString(text, ""), " $1")
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(line), ";"), ",")
		f := strings.Fields(line)
		switch {
		case len(f) == 0, strings.HasPrefix(line, "//"), strings.HasPrefix(line, ".v"), strings.HasPrefix(line, ".target"),
			strings.HasPrefix(line, ".address"), len(line) == 1, f[0] == ".maxntid", f[0] == ".minnctapersm":
		case f[0] == ".reqnctapercluster":
			p.cluster, _ = strconv.Atoi(f[1])
		case f[0] == ".param":
			size, _ := strconv.Atoi(f[1][2:])
			size /= 8
			align, name := size, f[2]
			if f[1] == ".align" { // .align N .b8 name[size]
				align, _ = strconv.Atoi(f[2])
				name, f[4], _ = strings.Cut(strings.TrimSuffix(f[4], "]"), "[")
				size, _ = strconv.Atoi(f[4])
			}
			p.args = (p.args + align - 1) / align * align
			p.params[name] = p.args
			p.args += size
		case f[0] == ".reg":
			for _, list := range f[2:] {
				p.declare(strings.TrimSuffix(list, ","), map[string]int{".pred": 1, ".b16": 16, ".b32": 32, ".f32": 32, ".b64": 64, ".f64": 64}[f[1]])
			}
		case f[0] == ".extern": // .extern .shared .align N .b8 name[], all that a launch may ask for
			p.shared[strings.TrimSuffix(f[5], "[]")], p.nShared = 0, 227<<10
		case f[0] == ".shared", f[0] == ".local":
			name, n, _ := strings.Cut(strings.TrimSuffix(f[4], "]"), "[")
			size, _ := strconv.Atoi(n)
			space, at := p.shared, &p.nShared
			if f[0] == ".local" {
				space, at = p.local, &p.nLocal
			}
			space[name] = *at
			*at += (size + 15) / 16 * 16
		case f[0] == ".pragma": // what an assembler may unroll
		case strings.HasSuffix(line, ":"):
			labels[strings.TrimSuffix(line, ":")] = len(lines)
		default:
			lines = append(lines, line)
		}
	}
	for _, line := range lines {
		p.code = append(p.code, p.decode(line, labels))
	}
	return p
}

// declare makes registers of a width: one, or as many as the brackets behind the name say.
func (p *simProgram) declare(list string, width int) {
	name, n, several := strings.Cut(strings.TrimSuffix(list, ">"), "<")
	names := []string{name}
	if several {
		count, _ := strconv.Atoi(n)
		names = nil
		for i := range count {
			names = append(names, name+strconv.Itoa(i))
		}
	}
	for _, name := range names {
		p.regs[name] = len(p.width)
		p.width = append(p.width, width)
	}
}

// splitOperands splits at commas outside braces.
func splitOperands(s string) []string {
	var out []string
	depth, from := 0, 0
	for i, c := range s {
		switch c {
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, s[from:i])
				from = i + 1
			}
		}
	}
	if strings.TrimSpace(s[from:]) != "" {
		out = append(out, s[from:])
	}
	return out
}

// ordering is the order and scope of an access.
var ordering = regexp.MustCompile(`\.(relaxed|acquire|release|acq_rel)\.(gpu|cta)\b`)

func (p *simProgram) decode(line string, labels map[string]int) simInst {
	in := simInst{text: line}
	guard, guarded := func(*simThread) bool { return true }, line[0] == '@'
	if guarded {
		g, rest, _ := strings.Cut(strings.ReplaceAll(line[1:], "\t", " "), " ")
		want := uint64(1)
		if g[0] == '!' {
			g, want = g[1:], 0
		}
		pred := p.operand(g)
		guard = func(t *simThread) bool { return pred.get(t) == want }
		line = strings.TrimSpace(rest)
	}
	opcode, rest, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
	rest = strings.TrimSpace(rest)
	in.mods = strings.Split(ordering.ReplaceAllString(opcode, ""), ".") // threads take turns anyway
	switch in.mods[0] {
	case "bra":
		to, ok := labels[rest]
		if !ok {
			panic("no label " + rest)
		}
		uni := len(in.mods) > 1 && in.mods[1] == "uni"
		in.exec = func(t *simThread) {
			taken := guard(t)
			if uni {
				t.together(taken)
			}
			if taken {
				t.pc = to - 1
			}
		}
		return in
	case "trap":
		in.exec = func(t *simThread) {
			if guard(t) {
				panic("trap")
			}
		}
		return in
	case "ret":
		in.exec = func(t *simThread) { t.done = true }
		return in
	case "cp":
		if in.exec = p.bulkSim(opcode, rest); in.exec != nil {
			run := in.exec
			in.exec = func(t *simThread) {
				if guard(t) {
					run(t)
				}
			}
			return in
		}
		if in.exec = groupSim(opcode, rest); in.exec != nil {
			return in
		}
	case "fence":
		in.exec = func(*simThread) {}
		if opcode == "fence.proxy.async.shared::cta" {
			in.exec = (*simThread).clean
		}
		return in
	case "barrier":
		if in.exec = func(*simThread) {}; opcode == "barrier.cluster.wait" {
			in.group = "cluster"
		}
		return in
	case "griddepcontrol", "setmaxnreg": // there is one kernel, and registers for all
		in.exec = func(*simThread) {}
		return in
	}
	for _, s := range splitOperands(rest) {
		in.ops = append(in.ops, p.operand(s))
	}
	switch in.mods[0] {
	case "bar", "shfl", "vote", "mma", "ldmatrix", "wgmma":
		in.group = in.mods[0]
	default:
		run := p.execute(in.mods, in.ops)
		if in.exec = run; guarded {
			in.exec = func(t *simThread) {
				if guard(t) {
					run(t)
				}
			}
		}
	}
	return in
}

func last(mods []string) string { return mods[len(mods)-1] }

// bitsOf returns the width in a PTX type.
func bitsOf(t string) int {
	if t == "pred" {
		return 1
	}
	n, err := strconv.Atoi(strings.TrimLeft(t, "usbf"))
	if err != nil {
		panic("type " + t)
	}
	return n
}

func irType(t string) *ir.Type {
	switch t {
	case "b16":
		t = "u16"
	case "b32":
		t = "u32"
	case "b64":
		t = "u64"
	case "pred":
		return ir.Bool
	}
	if strings.HasPrefix(t, "s") {
		t = "i" + t[1:]
	}
	got, err := ir.ParseType(t)
	if err != nil {
		panic(err)
	}
	return got
}

// arith are the operations that mean in PTX what they mean in the IR.
var arith = map[string]ir.Op{
	"add": ir.OpAdd, "sub": ir.OpSub, "neg": ir.OpNeg, "and": ir.OpAnd, "or": ir.OpOr, "xor": ir.OpXor, "not": ir.OpNot,
	"abs": ir.OpAbs, "fma": ir.OpFMA, "sqrt": ir.OpSqrt, "min": ir.OpMin, "max": ir.OpMax, "popc": ir.OpPopcount, "clz": ir.OpClz,
	"mul": ir.OpMul, "div": ir.OpDiv, "rem": ir.OpRem,
}

func evalIR(op ir.Op, t *ir.Type, args ...uint64) uint64 {
	types := [3]*ir.Type{t, t, t}
	for i := range args {
		args[i] = ir.Normalize(t, args[i])
	}
	r, ok := ir.Eval(op, t, 0, args, types[:len(args)])
	if !ok {
		panic(fmt.Sprint("cannot evaluate ", op, t))
	}
	return r
}

func isNaN(t *ir.Type, x uint64) bool {
	if t == ir.F32 {
		return x&0x7fffffff > 0x7f800000
	}
	return x&^(1<<63) > 0x7ff<<52
}

func (p *simProgram) execute(mods []string, ops []simOperand) func(t *simThread) {
	typ := last(mods)
	if op, ok := approximate[strings.Join(mods[:2], ".")]; ok {
		return approxSim(op, slices.Contains(mods, "ftz"), ops)
	}
	switch mods[0] {
	case "rcp":
		t := irType(typ)
		return func(th *simThread) {
			one := math.Float64bits(1)
			if t == ir.F32 {
				one = uint64(math.Float32bits(1))
			}
			ops[0].set(th, evalIR(ir.OpDiv, t, one, ops[1].get(th)))
		}
	case "ld", "st":
		return access(mods, ops)
	case "atom":
		return atom(mods, ops)
	case "mbarrier":
		return mbarrierSim(strings.Join(mods[1:], "."), ops)
	case "mapa":
		return func(t *simThread) { ops[0].set(t, ops[1].get(t)|ops[2].get(t)<<simRank) }
	case "cp":
		return copySim(mods, ops)
	case "mov", "cvta":
		if strings.HasPrefix(ops[1].text, "%") && ops[1].reg < 0 {
			return func(t *simThread) { ops[0].set(t, t.special(ops[1].text)) }
		}
		if p := ops[1].pair; p != nil && slices.Contains(mods, "b32") { // of halves
			return func(t *simThread) { ops[0].set(t, p[0].get(t)&math.MaxUint16|p[1].get(t)<<16) }
		}
		if p := ops[0].pair; p != nil && slices.Contains(mods, "b32") { // to halves
			return func(t *simThread) {
				v := ops[1].get(t)
				p[0].set(t, v&math.MaxUint16)
				p[1].set(t, v>>16)
			}
		}
		return func(t *simThread) { ops[0].set(t, ops[1].get(t)) }
	case "cvt":
		return convertSim(mods, ops)
	case "setp":
		return compareSim(mods, ops)
	case "selp":
		return func(t *simThread) {
			a, b := ops[1].get(t), ops[2].get(t)
			if ops[3].get(t) == 0 {
				a = b
			}
			ops[0].set(t, a)
		}
	case "brev":
		w := bitsOf(typ)
		return func(t *simThread) { ops[0].set(t, bits.Reverse64(ops[1].get(t))>>(64-w)) }
	case "prmt", "dp4a":
		op, known := map[string]ir.Op{"prmt": ir.OpPermute, "dp4a": ir.OpDot4}[mods[0]], irType(typ)
		return func(t *simThread) {
			ops[0].set(t, evalIR(op, known, ops[1].get(t), ops[2].get(t), ops[3].get(t)))
		}
	case "shl", "shr":
		return shiftSim(mods, ops)
	case "bfi", "bfe", "shf":
		return fieldSim(mods, ops)
	case "mul", "mad":
		if mods[1] != "rn" {
			return productSim(mods, ops)
		}
	}
	op, ok := arith[mods[0]]
	if !ok {
		panic("unknown instruction " + strings.Join(mods, "."))
	}
	known := irType(typ)
	return func(t *simThread) {
		var args [3]uint64
		for i := range ops[1:] {
			args[i] = ops[i+1].get(t)
		}
		ops[0].set(t, arithSim(op, mods, known, args[:len(ops)-1]))
	}
}

// approximate lists the instructions whose results are not laid down to the
// last bit.
var approximate = map[string]ir.Op{
	"ex2.approx": ir.OpApproxExp2, "lg2.approx": ir.OpApproxLog2, "sin.approx": ir.OpApproxSin, "cos.approx": ir.OpApproxCos,
	"tanh.approx": ir.OpApproxTanh, "rsqrt.approx": ir.OpApproxRsqrt, "sqrt.approx": ir.OpApproxSqrt, "rcp.approx": ir.OpApproxRecip,
	"div.full": ir.OpApproxDiv,
}

// approxSim is such an instruction; flush says that subnormal operands and results are zero.
func approxSim(op ir.Op, flush bool, ops []simOperand) func(t *simThread) {
	normal := func(x uint64) uint64 {
		if flush && x>>23&0xFF == 0 {
			return x &^ (1<<23 - 1)
		}
		return x
	}
	return func(t *simThread) {
		var args [2]uint64
		for i := range ops[1:] {
			args[i] = normal(ops[i+1].get(t))
		}
		ops[0].set(t, normal(evalIR(op, ir.F32, args[:len(ops)-1]...)))
	}
}

func arithSim(op ir.Op, mods []string, typ *ir.Type, args []uint64) uint64 {
	switch {
	case (op == ir.OpDiv || op == ir.OpRem) && typ.IsInt() && ir.Normalize(typ, args[1]) == 0:
		return math.MaxUint64
	case (op == ir.OpMin || op == ir.OpMax) && typ.IsFloat() && mods[1] != "NaN":
		if isNaN(typ, args[0]) {
			return args[1]
		}
		if isNaN(typ, args[1]) {
			return args[0]
		}
	case typ.IsFloat() && op != ir.OpMin && op != ir.OpMax && op != ir.OpNeg && op != ir.OpAbs && mods[1] != "rn":
		panic("no rounding mode in " + strings.Join(mods, "."))
	}
	return evalIR(op, typ, args...)
}

func productSim(mods []string, ops []simOperand) func(t *simThread) {
	typ := irType(last(mods))
	return func(t *simThread) {
		a, b := ir.Normalize(typ, ops[1].get(t)), ir.Normalize(typ, ops[2].get(t))
		v := a * b // canonical bits: right for lo and wide
		if mods[1] == "hi" {
			v = evalIR(ir.OpMulHi, typ, a, b)
		}
		if mods[0] == "mad" {
			v += ops[3].get(t)
		}
		ops[0].set(t, v)
	}
}

func shiftSim(mods []string, ops []simOperand) func(t *simThread) {
	typ := irType(last(mods))
	op := ir.OpShl
	if mods[0] == "shr" {
		op = ir.OpShr
	}
	return func(t *simThread) {
		count := ops[2].get(t)
		if count > math.MaxUint32 {
			panic("shift count wider than 32 bits")
		}
		v, _ := ir.Eval(op, typ, 0, []uint64{ir.Normalize(typ, ops[1].get(t)), count}, []*ir.Type{typ, ir.U32})
		ops[0].set(t, v)
	}
}

func compareSim(mods []string, ops []simOperand) func(t *simThread) {
	typ := irType(mods[2])
	names := map[string]ir.Op{"eq": ir.OpEq, "ne": ir.OpNe, "lt": ir.OpLt, "le": ir.OpLe, "gt": ir.OpGt, "ge": ir.OpGe, "neu": ir.OpNe}
	op := names[mods[1]]
	return func(t *simThread) {
		a, b := ir.Normalize(typ, ops[1].get(t)), ir.Normalize(typ, ops[2].get(t))
		nan := typ.IsFloat() && (isNaN(typ, a) || isNaN(typ, b))
		var r uint64
		switch {
		case mods[1] == "nan":
			if nan {
				r = 1
			}
		case nan && mods[1] == "ne": // ordered
		default:
			r, _ = ir.Eval(op, ir.Bool, 0, []uint64{a, b}, []*ir.Type{typ, typ})
		}
		ops[0].set(t, r)
	}
}

// truncate rounds a float64 towards zero to a float32.
func truncate(x float64) float32 {
	y := float32(x)
	if math.Abs(float64(y)) > math.Abs(x) {
		y = math.Nextafter32(y, 0)
	}
	return y
}

func convertSim(mods []string, ops []simOperand) func(t *simThread) {
	mode := ""
	if to, two := strings.CutSuffix(mods[2], "x2"); two {
		return convertPairSim(to, mods, ops)
	}
	if len(mods) == 4 {
		mode = mods[1]
	}
	to, from := irType(mods[len(mods)-2]), irType(last(mods))
	round := map[string]ir.Op{"rmi": ir.OpFloor, "rpi": ir.OpCeil, "rzi": ir.OpTrunc, "rni": ir.OpRint}[mode]
	return func(t *simThread) {
		x := ir.Normalize(from, ops[1].get(t))
		var v uint64
		switch {
		case mode == "rz":
			f := truncate(math.Float64frombits(x))
			if from.IsInt() {
				f = truncateInt(x, from.IsSigned())
			}
			v = uint64(math.Float32bits(f))
		case from.IsFloat() && to == from:
			v = evalIR(round, to, x)
		case from.IsFloat() && to.IsInt() && isNaN(from, x) && (to.Size() == 8 || from == ir.F64):
			v = 1 << (to.Bits() - 1)
		case from.IsFloat() && to.IsInt() && mode != "rzi", (from.IsInt() || to.Size() < from.Size()) && !to.IsInt() && mode != "rn":
			panic("wrong mode in " + strings.Join(mods, "."))
		default:
			v, _ = ir.Eval(ir.OpConvert, to, 0, []uint64{x}, []*ir.Type{from})
		}
		ops[0].set(t, v)
	}
}

// convertPairSim converts two numbers to halves, the first one to the upper half.
func convertPairSim(to string, mods []string, ops []simOperand) func(t *simThread) {
	if mods[1] != "rn" || last(mods) != "f32" {
		panic("wrong mode in " + strings.Join(mods, "."))
	}
	half := func(x uint64) uint64 {
		v, _ := ir.Eval(ir.OpConvert, irType(to), 0, []uint64{ir.Normalize(ir.F32, x)}, []*ir.Type{ir.F32})
		return v & math.MaxUint16
	}
	return func(t *simThread) { ops[0].set(t, half(ops[1].get(t))<<16|half(ops[2].get(t))) }
}

// truncateInt rounds an integer towards zero to a float32.
func truncateInt(x uint64, signed bool) float32 {
	neg := signed && int64(x) < 0
	if neg {
		x = -x
	}
	if n := bits.Len64(x); n > 24 {
		x &^= 1<<(n-24) - 1
	}
	if neg {
		return -float32(x)
	}
	return float32(x)
}
