package cfamily

import (
	"slices"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/matrix"
	"github.com/gokiln/kiln/compiler/target"
)

// Language is what sets one C-like language apart: tables, and three pieces of
// text. A package of its own holds each.
type Language struct {
	Kind string // of target

	// Rows say how operations are written; they are tried before [Rows].
	Rows []Row
	// Missing lists the operations and types that the language lacks, and what to
	// do instead.
	MissingOps   map[ir.Op]string
	MissingTypes map[ir.Kind]string
	// Refuse says why the language has no spelling of v for t, where that depends on
	// more than the operation; "" if it has one. It may be nil.
	Refuse func(t target.Target, v *ir.Value) string

	// PlainC says that the names of structs are not types.
	PlainC bool
	// Apart says that arguments are passed one by one, not as a block.
	Apart bool

	// Helpers are the types and functions that rows name. They come before those
	// of [Helpers] of the same name; the text holds those that it uses.
	Helpers []Helper
	// Head comes before everything.
	Head func(t target.Target) string

	// Pointer writes the type of a pointer to elem. Restrict says that nothing else
	// points to what it is used for.
	Pointer func(elem string, space ir.Space, restrict bool) string
	// Shared declares an object in shared memory, in the kernel's body.
	Shared func(elem, name string) string
	// Table writes the head of the declaration of a constant table, outside of functions, up to
	// its initialiser.
	Table func(elem, name string) string
	// Whole declares the shared memory that a launch asks for, by the name [WholeName], or is
	// empty where a parameter is a pointer to it. Dynamic is that parameter then, without its
	// type and its name.
	Whole   string
	Dynamic *Param
	// Scopes are the scopes of atomic operations, by their number.
	Scopes [2]string
	// Zero is a statement that clears the object {p} of type {t}.
	Zero string
	// Inputs are what the hardware gives a thread, where that is a parameter of the
	// kernel. Those that the kernel names follow its own parameters. Their names are
	// reserved, and so are those of Words.
	Inputs []Param
	Words  []string
	// Entry writes the head of the kernel, up to its opening brace, from the
	// declarations of its parameters. It may add statements for the body.
	Entry func(t target.Target, name string, params []Param, launch ir.Bounds) (head string, body []string)
}

// WholeName is what the memory of [Language.Whole] is called.
const WholeName = "shared_memory"

// Param is a parameter of a kernel as the language declares it.
type Param struct {
	Type, Name string
	Bool       bool   // passed as a byte, named Name with Arg before it
	Attr       string // of the language's inputs, what they are
}

// Row says how an operation is written for some kinds of type. The first row that applies is taken.
// Text is an expression, or a statement if the operation has no result, with placeholders: $a, $b
// and $c are the operands, $A, $B and $C the same for texts that name them twice; $p is the object
// that operand a points to. In braces: t, u, s is the type keyed on, its unsigned and its signed
// kin; w the type of twice the width; n the width and m the width less one; k the name of the kind,
// f that of operand a; ones all bits of a narrow integer set; d the type of the result; imm the
// number of the operation; less what the constant operand b is less than zero; unit the
// name of a matrix instruction (see [UnitName]). Of an atomic operation, order is its order as C calls it, and how a suffix for its order and scope, "" for
// none and the device; texts without either are written between fences if there is an order. scope
// is one of [Language].Scopes.
type Row struct {
	Op    ir.Op
	On    ir.Kinds // see keyType; zero for all
	From  ir.Kinds // of conversions
	Space Spaces
	When  func(v *ir.Value) bool
	Text  string
}

// Helper is a type or a function that texts may name. Its own text may name others.
type Helper struct{ Name, Text string }

// Axis is a condition of rows: the operation is of dimension n, as thread indices are.
func Axis(n uint64) func(*ir.Value) bool {
	return func(v *ir.Value) bool { return v.Imm == n }
}

// Sets of kinds.
var (
	Narrow   = ir.KindsOf(ir.KI8, ir.KU8, ir.KI16, ir.KU16)
	Int32    = ir.KindsOf(ir.KI32, ir.KU32)
	Int64    = ir.KindsOf(ir.KI64, ir.KU64)
	Ints     = Narrow | Int32 | Int64
	Signed   = ir.KindsOf(ir.KI8, ir.KI16, ir.KI32, ir.KI64)
	Unsigned = Ints &^ Signed
	F32      = ir.KindsOf(ir.KF32)
	F64      = ir.KindsOf(ir.KF64)
	Floats   = F32 | F64
	Halves   = ir.KindsOf(ir.KF16, ir.KBF16)
	Boolean  = ir.KindsOf(ir.KBool)
	Pointers = ir.KindsOf(ir.KPtr)
)

// Spaces is a set of address spaces.
type Spaces uint8

// Sets of address spaces.
const (
	InGlobal Spaces = 1 << ir.Global
	InShared Spaces = 1 << ir.Shared
	InLocal  Spaces = 1 << ir.Local
)

// keyType is the type that rows are chosen by: of what is compared, stored or
// voted on, else of the result.
func keyType(v *ir.Value) *ir.Type {
	switch v.Op {
	case ir.OpEq, ir.OpNe, ir.OpLt, ir.OpLe, ir.OpGt, ir.OpGe, ir.OpBallot, ir.OpAny, ir.OpAll:
		return v.Args[0].Type
	case ir.OpStore, ir.OpAtomicStore:
		return v.Args[1].Type
	}
	return v.Type
}

func (r *Row) fits(v *ir.Value) bool {
	switch {
	case r.On != 0 && !r.On.Has(keyType(v).Kind):
		return false
	case r.From != 0 && !r.From.Has(v.Args[0].Type.Kind):
		return false
	case r.Space != 0 && r.Space>>v.Args[0].Type.Space&1 == 0:
		return false
	}
	return r.When == nil || r.When(v)
}

// row finds how v is written, nil if it cannot be.
func (l *Language) row(v *ir.Value) *Row {
	for _, table := range [][]Row{l.Rows, Rows} {
		for i := range table {
			if table[i].Op == v.Op && table[i].fits(v) {
				return &table[i]
			}
		}
	}
	return nil
}

// Lacks says why the language cannot write an operation, "" if it can.
func (l *Language) Lacks(op ir.Op) string {
	if why := l.MissingOps[op]; why != "" {
		return why
	}
	if slices.ContainsFunc(l.Rows, func(r Row) bool { return r.Op == op }) {
		return ""
	}
	return Unsupported[op]
}

// UnitName is the name of a matrix instruction in package matrix as C allows it.
func UnitName(u *matrix.Unit) string { return strings.ReplaceAll(u.Name, ".", "_") }

// ordered reports whether the row of an atomic operation writes its order.
func (l *Language) ordered(v *ir.Value) bool {
	r := l.row(v)
	return r != nil && (strings.Contains(r.Text, "{order}") || strings.Contains(r.Text, "{how}"))
}

// Orders are the names of the orders of atomic operations in C.
var Orders = [...]string{ir.Relaxed: "RELAXED", ir.Acquire: "ACQUIRE", ir.Release: "RELEASE", ir.AcquireRelease: "ACQ_REL"}

// How is the suffix of a helper for an order and a scope.
func How(o ir.Order, s ir.Scope) string {
	how := ""
	if o != ir.Relaxed {
		how = "_" + strings.ToLower(Orders[o])
	}
	if s == ir.BlockScope {
		how += "_block"
	}
	return how
}

// Declare writes the declarations of parameters as C++ does. A bool is
// passed as a byte, which may hold anything; body makes it a bool.
func Declare(params []Param) (list, body []string) {
	for _, p := range params {
		name := p.Name
		if p.Bool {
			name += "_byte"
			body = append(body, "bool "+p.Name+" = "+name+" != 0;")
		}
		list = append(list, p.Type+" "+name)
	}
	return list, body
}
