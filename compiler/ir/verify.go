package ir

import (
	"errors"
	"fmt"
)

// Verify reports everything that is wrong with m: types that break an
// operation's rule, uses that no definition dominates, edges whose values do
// not match the target's parameters, blocks without an end.
func Verify(m *Module) error {
	var errs []error
	names := map[string]bool{}
	for i, t := range m.Tables {
		if err := t.check(); err != nil {
			errs = append(errs, fmt.Errorf("table %d: %w", i, err))
		}
	}
	for _, f := range m.Funcs {
		if names[f.Name] {
			errs = append(errs, fmt.Errorf("@%s: two functions of this name", f.Name))
		}
		names[f.Name] = true
		errs = append(errs, verifyFunc(m, f)...)
	}
	return errors.Join(errs...)
}

type verifier struct {
	m    *Module
	f    *Func
	dom  *DomTree
	at   []int // value ID -> index in its block, -1 for parameters
	def  []*Value
	errs []error
	b    *Block
	p    *printer
}

func verifyFunc(m *Module, f *Func) []error {
	v := &verifier{m: m, f: f, p: newPrinter(m)}
	v.p.noPos = true
	v.p.number(f)
	if len(f.Blocks) == 0 {
		v.fail("no blocks")
		return v.errs
	}
	if !v.blocks() {
		return v.errs // the control-flow graph is not fit to be walked
	}
	v.dom = Dominators(f)
	v.params()
	v.define()
	for _, b := range f.Blocks {
		v.b = b
		for i, in := range b.Instrs {
			v.instr(in, i)
		}
		v.term(b)
	}
	return v.errs
}

func (v *verifier) fail(format string, args ...any) {
	place := "@" + v.f.Name
	if v.b != nil {
		place += " " + v.p.label(v.b)
	}
	v.errs = append(v.errs, fmt.Errorf("%s: %s", place, fmt.Sprintf(format, args...)))
}

func (v *verifier) failAt(in *Value, format string, args ...any) {
	v.p.b.Reset()
	v.p.instr(in)
	v.fail("%s: %s", v.p.b.String(), fmt.Sprintf(format, args...))
}

func (v *verifier) blocks() bool {
	in := map[*Block]bool{}
	ids := map[int]bool{}
	for _, b := range v.f.Blocks {
		if in[b] || ids[b.ID] || b.ID >= v.f.nextBlock {
			v.fail("block %d listed twice or numbered wrongly", b.ID)
			return false
		}
		in[b], ids[b.ID] = true, true
	}
	for _, b := range v.f.Blocks {
		for _, e := range b.Term.Succs {
			if !in[e.To] {
				v.b = b
				v.fail("jump to a block outside the function")
				return false
			}
			if e.To == v.f.Blocks[0] {
				v.b = b
				v.fail("jump to the entry block")
				return false
			}
		}
	}
	return true
}

func (v *verifier) params() {
	var want []*Type
	for _, a := range v.f.Args {
		types := a.params()
		for i, t := range types {
			if n := len(want) + i; n < len(v.f.Params) && v.f.Params[n].Type != t {
				v.fail("argument %s does not match its parameters", a.Name)
				break
			}
		}
		want = append(want, types...)
	}
	if v.f.Kernel && len(want) != len(v.f.Params) {
		v.fail("arguments take %d parameters, the function has %d", len(want), len(v.f.Params))
		return
	}
	if v.f.Kernel && len(v.f.Results) > 0 {
		v.fail("a kernel has no results")
	}
	if len(v.f.Blocks[0].Params) > 0 {
		v.fail("the entry block has parameters")
	}
}

func (v *verifier) define() {
	v.at = make([]int, v.f.nextValue)
	v.def = make([]*Value, v.f.nextValue)
	set := func(x *Value, at int, op Op, b *Block) {
		if x.ID >= len(v.def) || v.def[x.ID] != nil {
			v.fail("value number %d used twice or out of range", x.ID)
			return
		}
		if x.Block != b || (op != OpInvalid && x.Op != op) {
			v.fail("%s is recorded in another block or as another operation", v.p.ref(x))
		}
		v.at[x.ID], v.def[x.ID] = at, x
	}
	for i, x := range v.f.Params {
		set(x, -1, OpParam, nil)
		if x.Imm != uint64(i) || !x.Type.IsValue() {
			v.fail("parameter %d is malformed", i)
		}
	}
	for _, b := range v.f.Blocks {
		v.b = b
		for _, x := range b.Params {
			set(x, -1, OpBlockParam, b)
			if !x.Type.IsValue() {
				v.fail("block parameter of type %s", x.Type)
			}
		}
		for i, x := range b.Instrs {
			set(x, i, OpInvalid, b)
		}
	}
	v.b = nil
}

// use checks that x is defined before index at of the current block.
func (v *verifier) use(in *Value, x *Value, at int) bool {
	complain := func(what string) bool {
		if in != nil {
			v.failAt(in, "%s", what)
		} else {
			v.fail("%s", what)
		}
		return false
	}
	if x == nil {
		return complain("missing operand")
	}
	if x.ID >= len(v.def) || v.def[x.ID] != x {
		return complain(fmt.Sprintf("operand %s is not in the function", v.p.ref(x)))
	}
	if x.Type == Void {
		return complain("operand has no value")
	}
	if x.Block == nil || !v.dom.Reachable(v.b) {
		return true
	}
	if x.Block == v.b && v.at[x.ID] >= at || !v.dom.Dominates(x.Block, v.b) {
		return complain(fmt.Sprintf("%s does not dominate this use", v.p.ref(x)))
	}
	return true
}

func (v *verifier) instr(in *Value, at int) {
	if in.Op == OpInvalid || in.Op >= numOps || in.Op == OpParam || in.Op == OpBlockParam {
		v.fail("operation %d is not an instruction", in.Op)
		return
	}
	info := in.Op.Info()
	if info.Args >= 0 && len(in.Args) != info.Args {
		v.failAt(in, "has %d operands, wants %d", len(in.Args), info.Args)
		return
	}
	for _, x := range in.Args {
		if !v.use(in, x, at) {
			return
		}
	}
	if info.NoValue != (in.Type == Void) && in.Op != OpCall {
		v.failAt(in, "wrong result type")
		return
	}
	if msg := v.rule(in, info.Rule); msg != "" {
		v.failAt(in, "%s", msg)
	}
	if in.Contract && !in.MayContract() {
		v.failAt(in, "cannot have the suffix %s, which is for sums and products of floats", contractSuffix)
	}
}

func (v *verifier) term(b *Block) {
	t := &b.Term
	want := map[TermKind]int{TermJump: 1, TermBranch: 2, TermReturn: 0}
	n, ok := want[t.Kind]
	if !ok || len(t.Succs) != n {
		v.fail("block does not end in jump, br or ret")
		return
	}
	for _, x := range t.Args {
		if !v.use(nil, x, len(b.Instrs)) {
			return
		}
	}
	switch t.Kind {
	case TermBranch:
		if len(t.Args) != 1 || t.Args[0].Type != Bool {
			v.fail("br wants one bool")
		}
	case TermReturn:
		v.sameTypes("ret", t.Args, v.f.Results)
	}
	for _, e := range t.Succs {
		types := make([]*Type, len(e.To.Params))
		for i, x := range e.To.Params {
			types[i] = x.Type
		}
		for _, x := range e.Args {
			if !v.use(nil, x, len(b.Instrs)) {
				return
			}
		}
		v.sameTypes("edge to "+v.p.label(e.To), e.Args, types)
	}
}

func (v *verifier) sameTypes(what string, args []*Value, types []*Type) {
	if len(args) != len(types) {
		v.fail("%s passes %d values, wants %d", what, len(args), len(types))
		return
	}
	for i, x := range args {
		if x.Type != types[i] {
			v.fail("%s: value %d is %s, wants %s", what, i, x.Type, types[i])
		}
	}
}

// rule returns what is wrong with in by rule r, "" if nothing is.
func (v *verifier) rule(in *Value, r Rule) string {
	t := in.Type
	arg := func(i int) *Type { return in.Args[i].Type }
	same := func() bool {
		for _, x := range in.Args {
			if x.Type != t {
				return false
			}
		}
		return true
	}
	check := func(ok bool, msg string) string {
		if ok {
			return ""
		}
		return msg
	}
	switch r {
	case RuleArith:
		return check((t.IsInt() || t.IsFloat()) && same(), "wants operands of one integer or float type")
	case RuleInt:
		return check(t.IsInt() && same(), "wants operands of one integer type")
	case RuleWord:
		return check(t.IsInt() && t.Size() == 4 && same(), "wants operands of one 4-byte integer type")
	case RuleLogic:
		return check((t.IsInt() || t == Bool) && same(), "wants operands of one integer type or bool")
	case RuleFloat:
		return check(t.IsFloat() && same(), "wants operands of one float type")
	case RuleApprox:
		return check(t == F32 && same(), "wants operands of type f32")
	case RuleShift:
		return check(t.IsInt() && arg(0) == t && arg(1).IsInt() && !arg(1).IsSigned(), "wants an integer and an unsigned count")
	case RuleCompare:
		return check(t == Bool && arg(0) == arg(1) && !arg(0).IsHalf(), "wants operands of one type and a bool result")
	case RuleBoolArith:
		if in.Imm != 0 && (in.Imm > FarX|FarY || arg(0) != I64) {
			return "only 64-bit integers are known not to wrap"
		}
		return check(t == Bool && arg(0) == arg(1) && (arg(0).IsInt() || arg(0).IsFloat()), "wants operands of one ordered type and a bool result")
	case RuleConvert:
		return check(isNumber(t) && isNumber(arg(0)), "wants numbers")
	case RuleBitcast:
		return check(t.IsValue() && arg(0).IsValue() && !t.IsPtr() && !arg(0).IsPtr() &&
			t != Bool && arg(0) != Bool && t.Size() == arg(0).Size(), "wants types of one size")
	case RuleSelect:
		return check(t.IsValue() && arg(0) == Bool && arg(1) == t && arg(2) == t, "wants a bool and two values of the result type")
	case RuleGeom:
		return check(t == I64 && in.Imm < 3, "wants an axis 0..2 and an i64 result")
	case RuleWarp:
		return check(t == I64, "wants an i64 result")
	case RuleShfl:
		return check(isNumber(t) && arg(0) == t && arg(1) == I64, "wants a number and an i64")
	case RuleVote:
		want := Bool
		if in.Op == OpBallot {
			want = U64
		}
		return check(arg(0) == Bool && t == want, "wants a bool")
	case RuleText:
		return v.text(in)
	case RulePtr:
		return v.pointer(in)
	case RuleMem:
		return v.memory(in)
	case RuleMatrix:
		return v.matrix(in)
	case RuleAtomic:
		return v.atomic(in)
	}
	return v.special(in)
}

func (v *verifier) text(in *Value) string {
	if in.Imm >= uint64(len(v.m.Texts)) {
		return "wants the number of a text"
	}
	for _, x := range in.Args {
		if !x.Type.IsValue() || x.Type.IsPtr() {
			return "wants scalars"
		}
	}
	if in.Op != OpAssert {
		return ""
	}
	if n := len(in.Args); n < 1 || n > 3 || in.Args[0].Type != Bool {
		return "wants one bool to assert, and at most two values"
	}
	for _, x := range in.Args[1:] {
		if x.Type != I64 {
			return "wants values of type i64"
		}
	}
	return ""
}

func (v *verifier) pointer(in *Value) string {
	t := in.Type
	if !t.IsPtr() {
		return "wants a pointer result"
	}
	if in.Op == OpLocalSized || in.Op == OpSharedSized {
		return v.sized(in)
	}
	var from *Type
	if len(in.Args) > 0 {
		if from = in.Args[0].Type; !from.IsPtr() || from.Space != t.Space {
			return "wants a pointer of the result's space"
		}
	}
	var ok bool
	switch in.Op {
	case OpLocal:
		ok = t.Space == Local
	case OpShared:
		ok = t.Space == Shared && in.Imm < uint64(len(v.m.Shared)) && v.m.Shared[in.Imm].Type == t.Elem
	case OpTable:
		ok = t.Space == Constant && in.Imm < uint64(len(v.m.Tables)) && v.m.Tables[in.Imm].Type == t.Elem
	case OpIndex:
		ok = from.Elem.Kind == KArray && from.Elem.Elem == t.Elem && in.Args[1].Type == I64
	case OpOffset:
		ok = from == t && in.Args[1].Type == I64
	case OpField:
		ok = from.Elem.Kind == KStruct && in.Imm < uint64(len(from.Elem.Elems)) && from.Elem.Elems[in.Imm] == t.Elem
	}
	if !ok {
		return "pointer types do not fit"
	}
	return ""
}

func (v *verifier) sized(in *Value) string {
	space := Local
	if in.Op == OpSharedSized {
		space = Shared
		if in.Imm >= uint64(len(v.m.Shared)) || v.m.Shared[in.Imm].Type.Elem != in.Type.Elem {
			return "wants a shared array of the pointee type"
		}
	}
	if in.Type.Space != space || in.Args[0].Type != I64 {
		return "wants an i64 and a pointer to its own space"
	}
	return ""
}

func (v *verifier) memory(in *Value) string {
	p := in.Args[0].Type
	if !p.IsPtr() {
		return "wants a pointer"
	}
	if p.Space == Constant && in.Op != OpLoad {
		return "writes to constant memory"
	}
	switch in.Op {
	case OpLoad:
		if in.Type != p.Elem || !in.Type.IsValue() {
			return "loads a scalar of the pointee type"
		}
	case OpLoadBytes:
		if !p.Elem.IsInt() || !in.Type.IsInt() || in.Type.Size() <= p.Elem.Size() {
			return "loads an integer of several elements through a pointer to smaller integers"
		}
	case OpStore:
		if in.Args[1].Type != p.Elem || !p.Elem.IsValue() {
			return "stores a scalar of the pointee type"
		}
	case OpMBarInit, OpMBarArrive, OpMBarExpect, OpMBarRemote, OpMBarTest:
		if p != PtrTo(Shared, U64) || len(in.Args) > 1 && in.Args[1].Type != I64 || in.Op == OpMBarTest && in.Type != Bool {
			return "wants a pointer to 64 bits of shared memory, and an i64"
		}
	case OpCopyTensor, OpCopyPixels:
		if p.Space != Shared || !isNumber(p.Elem) || in.Args[1].Type != U64 || in.Args[2].Type != PtrTo(Shared, U64) {
			return "wants a pointer to numbers in shared memory, a tensor map, and a barrier"
		}
		for _, at := range in.Args[3:] {
			if at.Type != I64 {
				return "wants a position of i64, and blocks of a cluster"
			}
		}
	case OpStoreTensor:
		if p.Space != Shared || !isNumber(p.Elem) || in.Args[1].Type != U64 || in.Args[2].Type != I64 || in.Args[3].Type != I64 || in.Args[4].Type != I64 {
			return "wants a pointer to numbers in shared memory, a tensor map, and a position of three i64"
		}
	case OpCopyBegun:
		if p.Space != Shared || in.Imm < 1 || in.Imm > MaxCopyVec {
			return "wants a pointer to shared memory, and a number of elements"
		}
	case OpCopyAsync, OpCopyVec:
		if q := in.Args[1].Type; !q.IsPtr() || p.Space != Shared || q.Space != Global || p.Elem != q.Elem || !isNumber(p.Elem) {
			return "copies a number to shared memory from global memory"
		}
		if in.Op == OpCopyVec && (in.Args[2].Type != Bool || in.Imm < 1 || in.Imm > MaxCopyVec) {
			return "wants a bool, and a number of elements"
		}
	}
	return ""
}

func (v *verifier) atomic(in *Value) string {
	p := in.Args[0].Type
	if !p.IsPtr() || p.Space != Global && p.Space != Shared {
		return "wants a pointer to global or shared memory"
	}
	t := p.Elem
	if in.Type != t && !in.Op.Info().NoValue {
		return "wants the result type that the pointer points to"
	}
	for _, x := range in.Args[1:] {
		if x.Type != t {
			return "wants operands of the type that the pointer points to"
		}
	}
	if !AtomicType(in.Op, t) {
		return "not an atomic type for this operation"
	}
	if in.Scope() >= numScopes || !OrderAllowed(in.Op, in.Order()) {
		return "not an order and scope for this operation"
	}
	return ""
}

func (v *verifier) special(in *Value) string {
	switch in.Op {
	case OpConst:
		if !in.Type.IsValue() || in.Type.IsPtr() || in.Imm != Normalize(in.Type, in.Imm) {
			return "constant is not normalised to a scalar type"
		}
	case OpCluster:
		if in.Args[0].Type != I64 {
			return "wants a number of blocks"
		}
	case OpBounds, OpLaunch:
		if in.Args[0].Type != I64 || in.Args[1].Type != I64 {
			return "wants two i64"
		}
	case OpNonNil:
		if in.Args[0].Type != Bool {
			return "wants a bool"
		}
	case OpCopyGroups, OpStoreWait:
		if in.Args[0].Type != I64 {
			return "wants an i64"
		}
	case OpWhole:
		return whole(in)
	case OpDivisor:
		if !in.Args[0].Type.IsInt() || in.Args[0].Type != in.Args[1].Type {
			return "wants two of one integer type"
		}
	case OpCount:
		if !in.Args[0].Type.IsSigned() {
			return "wants a signed integer"
		}
	case OpProj:
		c := in.Args[0]
		if c.Type.Kind != KTuple || in.Imm >= uint64(len(c.Type.Elems)) || c.Type.Elems[in.Imm] != in.Type {
			return "wants a result of a call"
		}
	case OpCall:
		return v.call(in)
	}
	return ""
}

// whole reports what is wrong with a test of all lanes: each operand is a comparison.
func whole(in *Value) string {
	if in.Type != Bool || in.Imm > OffLanes || len(in.Args) == 0 {
		return "wants bools, and 1 for lanes that are off or nothing"
	}
	for _, x := range in.Args {
		if x.Op < OpLt || x.Op > OpGe {
			return "wants comparisons by size"
		}
	}
	return ""
}

func (v *verifier) call(in *Value) string {
	f := in.Callee
	if f == nil || v.m.Func(f.Name) != f {
		return "call of a function outside the module"
	}
	if f.Kernel {
		return "call of a kernel"
	}
	want := Void
	switch len(f.Results) {
	case 0:
	case 1:
		want = f.Results[0]
	default:
		want = TupleOf(f.Results...)
	}
	if in.Type != want || len(in.Args) != len(f.Params) {
		return "call does not match the signature of @" + f.Name
	}
	for i, x := range in.Args {
		if x.Type != f.Params[i].Type {
			return fmt.Sprintf("argument %d is %s, wants %s", i, x.Type, f.Params[i].Type)
		}
	}
	return ""
}
