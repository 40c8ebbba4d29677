package pass

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/matrix"
)

// Pass is a row of the pass table.
type Pass struct {
	Name     string
	Doc      string // what it does and why it stands where it stands
	Required bool   // later stages do not work without it
	Run      func(*ir.Module, *Options) error
}

// Options controls [Run].
type Options struct {
	// Disable names passes to leave out, for finding a faulty one.
	Disable []string
	// Release drops bounds checks.
	Release bool
	// Checked keeps the checks of divisors and of counts of shifts, for whose failure
	// there is a defined result otherwise.
	Checked bool
	// WarpSize is the number of threads in a warp; 0 if it is not known yet.
	WarpSize int
	// Matrix returns the target's instruction for a kind of product, nil if it has none; nil if the
	// target is not known yet.
	Matrix func(ir.MatrixKind) *matrix.Unit
	// Packed says for which kinds of products code may have [ir.OpPackedMMA], which it then asks for when
	// it is loaded; nil if for none.
	Packed func(ir.MatrixKind) bool
	// Narrow computes integers of 64 bits in 32 where that gives the same.
	Narrow bool
	// SlowDiv says that who compiles the result divides as it is written: not by products with
	// reciprocals, and 64 bits always as such.
	SlowDiv bool
	// Async keeps copies to shared memory that go on beside the thread: the target has them.
	Async bool
	// WatchCopies keeps the waits that say to a checker how long such copies may go on.
	WatchCopies bool
	// CASLoops says that the target has no atomic updates of 8 and 16 bits but compare-and-swap.
	CASLoops bool
	// Small says what launches keep to: see [ir.SmallLen], [ir.SmallBlocks] and
	// [ir.SmallThreads].
	Small bool
	// Converge refuses modules whose threads may come to barriers and warp operations without each
	// other, that have indices which are always out of range, or loops without end.
	Converge bool
	// Check, if not nil, is called on the module after every pass; tests pass
	// [ir.Verify].
	Check func(*ir.Module) error
	// After, if not nil, is called after every pass that ran.
	After func(pass string, m *ir.Module)
}

// Passes is the pass table, in the order in which [Run] applies it. A name may
// stand more than once: the same pass again, after others gave it more to do.
var Passes = []Pass{
	{
		Name: "inline", Required: true, Run: inlineModule,
		Doc: "Replaces calls by the bodies of their callees and drops the callees; in large modules without what compile-time values and the target rule out. First, because no other pass looks across a call and no target has calls.",
	},
	{
		Name: "target", Run: fixTarget,
		Doc: "Replaces what the target fixes: the size of a warp and the shape of a matrix instruction by constants, and the row and column of a lane's element in one by arithmetic. Right after inline, so that all others see it.",
	},
	{
		Name: "size", Required: true, Run: size,
		Doc: "Makes arrays of dsl.SharedSlice and dsl.LocalSlice, whose lengths are constant by now; folds the functions that have any. Right after inline, so that no other pass meets an array without a length.",
	},
	{
		Name: "copies", Required: true, Run: copies,
		Doc: "Makes copies of dsl.CopyAsync loads and stores where the target has no others, and in checked builds. Right after size, so that all others see these.",
	},
	{
		Name: "casloop", Required: true, Run: casloop,
		Doc: "Makes loops around compare-and-swap of atomic updates of 8 and 16 bits where the target has no others. Right after copies, so that all others see loops.",
	},
	{
		Name: "release", Required: true, Run: release,
		Doc: "Drops the checks that the build does without: those of divisors and shifts unless it is a checked one, and in release builds those of bounds, except that diagnose sees those of arrays and small variants keep all for narrow. Right after inline, so that no later pass is held up by operations that may fail.",
	},
	{
		Name: "fold", Run: foldModule,
		Doc: "Folds constants, with those at constant places of tables, applies identities that hold in Go's arithmetic, decides branches and straightens the control flow. Before sroa and unroll, which look for constants.",
	},
	{
		Name: "sroa", Run: perFunc(sroa),
		Doc: "Splits local structs and arrays with constant paths into scalars and turns those into values. Before unroll, because loop counters may live in memory.",
	},
	{
		Name: "fold", Run: foldModule,
		Doc: "Again: values that came out of memory may be constants that bound loops.",
	},
	{
		Name: "contract", Run: perFunc(contract),
		Doc: "In kernels marked //kiln:fastmath, makes one operation of a product and a sum. After inline and sroa, which bring products next to sums; before unroll, whose copies it would have to visit, and before cse, for which operations with the licence and without are the same.",
	},
	{
		Name: "unroll", Run: perFunc(unroll),
		Doc: "Copies the bodies of loops with a small constant trip count, folding after each level. After sroa, which shows the counters.",
	},
	{
		Name: "sroa", Run: perFunc(sroa),
		Doc: "Again: unrolling made the indices of local arrays constant. This is what keeps accumulator tiles in registers.",
	},
	{
		Name: "fold", Run: foldModule,
		Doc: "Again: what came out of arrays is folded before loops are measured.",
	},
	{
		Name: "unroll", Run: perFunc(unroll),
		Doc: "Again: a body whose arrays have become values may be small enough now.",
	},
	{
		Name: "sroa", Run: perFunc(sroa),
		Doc: "Again, after that.",
	},
	{
		Name: "strength", Run: strengthModule,
		Doc: "Turns divisions by powers of two into shifts and decides comparisons where the ranges of integers allow. After unroll, whose counters have ranges of one value; before the last fold, which takes the decided branches.",
	},
	{
		Name: "fold", Run: foldModule,
		Doc: "Again: values that came out of arrays may be constant, and forwarding them empties blocks.",
	},
	{
		Name: "diagnose", Required: true, Run: diagnose,
		Doc: "Refuses indices of arrays that are always out of range and loops without end. After unroll, sroa and fold, which make counters constant and take away what no variant reaches; before licm, which is held up by the checks that release builds keep for it.",
	},
	{
		Name: "licm", Run: perFunc(licm),
		Doc: "Moves what does not change in a loop in front of it. Before partial, which wants to see the stride of a counter there.",
	},
	{
		Name: "partial", Run: partial,
		Doc: "Unrolls small loops that read memory four times, for as long as four iterations are left, or eight times if that divides the iterations. After unroll, which needs no rest of a loop where it applies, and when the bodies are as small as they get; before narrow, which narrows the new counters too.",
	},
	{
		Name: "converge", Required: true, Run: converge,
		Doc: "Refuses barriers and warp operations under divergent control. After unroll, sroa and fold, which make values of variables and decide branches; before narrow, whose sweep drops warp operations that nothing reads, and reciprocal, after which the quotient of an index by the warp size does not show.",
	},
	{
		Name: "narrow", Run: narrow,
		Doc: "Computes 64-bit integers in 32 bits where their ranges, or what is made of them, allow. After the last fold, which would have to see through its conversions; before cse, which gathers them.",
	},
	{
		Name: "reciprocal", Run: reciprocal,
		Doc: "Makes divisions by constants products with a reciprocal. After narrow, which halves the width of many, and strength, which knows better ways for some; before cse, to which a quotient and a remainder share their product.",
	},
	{
		Name: "cse", Run: perFunc(cse),
		Doc: "Computes equal pure expressions once and gathers constants in the entry block. After the copies of unroll exist; before licm and bounds, which compare values by identity.",
	},
	{
		Name: "ifconv", Run: perFunc(ifconv),
		Doc: "Turns branches around a little pure work into selects. After cse, which empties blocks of constants and leaves only what must be computed; before licm, because straight code moves more easily.",
	},
	{
		Name: "licm", Run: perFunc(licm),
		Doc: "Again: conversions and equal expressions have moved or gone. After cse, so that each expression moves once.",
	},
	{
		Name: "bounds", Run: boundsModule,
		Doc: "Removes bounds checks that an earlier check, a branch or the range of the index implies. After licm and cse, which give equal indices one name.",
	},
	{
		Name: "shortdiv", Run: shortdiv,
		Doc: "Tests whether the operands of a division of 64 bits fit 32, and divides those if they do. After narrow, strength and reciprocal, which need no test where they apply; after cse, licm, ifconv and bounds, which share, move, choose and bound a division that is one operation, but not one that is a branch.",
	},
	{
		Name: "dce", Run: dceModule,
		Doc: "Removes values, block parameters and stores that nothing reads, and shared objects and tables that nothing names. Last, to sweep up after all others.",
	},
}

// Constraint says that every entry of pass Before stands before some entry of
// pass After: what Before produces, After uses.
type Constraint struct {
	Before, After string
	Why           string
}

// Constraints lists what the order of [Passes] must respect.
var Constraints = []Constraint{
	{"inline", "size", "lengths are passed through calls"},
	{"size", "release", "it leaves arrays like all others to the passes behind it"},
	{"inline", "release", "checks sit in callees too"},
	{"inline", "copies", "copies are begun in callees too"},
	{"inline", "casloop", "callees update memory too"},
	{"casloop", "cse", "it makes arithmetic"},
	{"copies", "cse", "what a load of the source gave before is known"},
	{"inline", "sroa", "a pointer passed to a call would escape"},
	{"inline", "unroll", "loop sizes count the callees' bodies"},
	{"release", "diagnose", "it keeps the checks of arrays in release builds"},
	{"unroll", "diagnose", "indices become constants"},
	{"fold", "diagnose", "code that a variant does not reach goes away"},
	{"diagnose", "partial", "it drops the checks that release builds kept"},
	{"release", "licm", "loads do not move across operations that may fail"},
	{"inline", "contract", "products may be made in callees"},
	{"sroa", "contract", "products may be kept in variables"},
	{"contract", "cse", "it takes away the licence, which cse does not look at"},
	{"fold", "unroll", "trip counts must be constants"},
	{"sroa", "unroll", "counters must be values"},
	{"unroll", "sroa", "array indices become constants"},
	{"unroll", "cse", "copies of a body share subexpressions"},
	{"sroa", "cse", "loads become values"},
	{"strength", "fold", "decided branches are left to fold"},
	{"inline", "target", "callees ask for the warp size too"},
	{"target", "unroll", "the warp size bounds loops"},
	{"unroll", "partial", "loops of few iterations disappear altogether"},
	{"licm", "partial", "strides must stand in front of their loops"},
	{"strength", "partial", "bodies are counted as they will be"},
	{"partial", "narrow", "it makes counters"},
	{"sroa", "converge", "what local objects hold is known as a whole"},
	{"unroll", "converge", "counters of unrolled loops are uniform"},
	{"converge", "narrow", "it drops warp operations that nothing reads"},
	{"converge", "reciprocal", "a product with a reciprocal shows nothing of the quotient"},
	{"converge", "dce", "it drops warp operations that nothing reads"},
	{"release", "narrow", "it notes which indices are in range"},
	{"narrow", "reciprocal", "a division of 32 bits is half as long"},
	{"strength", "reciprocal", "shifts are shorter than products"},
	{"reciprocal", "cse", "a quotient and a remainder share their product"},
	{"strength", "narrow", "shifts and masks narrow more easily than divisions"},
	{"narrow", "cse", "the same value is converted in several places"},
	{"sroa", "strength", "ranges are known of values, not of memory"},
	{"cse", "ifconv", "constants must not count as work"},
	{"fold", "ifconv", "branches on constants go away for nothing"},
	{"ifconv", "licm", "what a branch guarded can move"},
	{"cse", "licm", "equal expressions move once"},
	{"cse", "bounds", "checks are compared by the identity of their operands"},
	{"licm", "bounds", "moved lengths dominate the checks"},
	{"narrow", "shortdiv", "operands whose ranges fit need no test"},
	{"strength", "shortdiv", "shifts need no test"},
	{"reciprocal", "shortdiv", "products need no test"},
	{"cse", "shortdiv", "equal divisions share a test when they are one"},
	{"licm", "shortdiv", "a division that does not change moves while it is one operation"},
	{"ifconv", "shortdiv", "an arm that divides is work to choose from, one that branches is not"},
	{"bounds", "shortdiv", "the range of a remainder shows while it is one operation"},
	{"bounds", "dce", "operands of removed checks are dead"},
}

// Run applies [Passes] to m. It fails for an unknown or required name in
// opt.Disable, for a recursive call and for what opt.Check reports.
func Run(m *ir.Module, opt Options) error { return apply(Passes, m, &opt) }

// apply applies the passes of a table.
func apply(table []Pass, m *ir.Module, opt *Options) error {
	if err := checkDisabled(opt.Disable); err != nil {
		return err
	}
	for _, p := range table {
		if slices.Contains(opt.Disable, p.Name) {
			continue
		}
		if err := p.Run(m, opt); err != nil {
			return fmt.Errorf("pass %s: %w", p.Name, err)
		}
		for _, f := range m.Funcs {
			f.Compact()
		}
		if opt.Check != nil {
			if err := opt.Check(m); err != nil {
				return fmt.Errorf("module is invalid after pass %s: %w", p.Name, err)
			}
		}
		if opt.After != nil {
			opt.After(p.Name, m)
		}
	}
	return nil
}

// Stage is a step of an emitter that [Options].Disable can name too. It works on
// instructions of the target, where no pass can see what it needs.
type Stage struct{ Name, Doc string }

// Stages lists the steps of emitters that can be left out.
var Stages = []Stage{
	{"vectorize", "Makes one instruction of loads, or stores, of neighbouring addresses whose alignment is known, within straight code. In the emitter, because what is a neighbour shows when constant distances have become offsets, and because the IR has no vectors."},
	{"uniform", "Marks branches that the threads of a warp take together, so that the assembler need not provide for their meeting again. In the emitter, because the mark is one on the target's instruction."},
}

// Named returns a row of [Passes] or [Vector] by its name, nil if there is none.
func Named(name string) *Pass {
	for _, table := range [][]Pass{Passes, Vector} {
		if i := slices.IndexFunc(table, func(p Pass) bool { return p.Name == name }); i >= 0 {
			return &table[i]
		}
	}
	return nil
}

// Names returns the names of the passes of [Passes], then of [Vector], each once, in order.
func Names() []string {
	var names []string
	for _, p := range slices.Concat(Passes, Vector) {
		if !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

func stageNames() (names []string) {
	for _, s := range Stages {
		names = append(names, s.Name)
	}
	return names
}

func checkDisabled(disable []string) error {
	for _, name := range disable {
		p := Named(name)
		switch {
		case slices.ContainsFunc(Stages, func(s Stage) bool { return s.Name == name }):
		case p == nil:
			return fmt.Errorf("no pass is named %q; the passes are %s; the stages of emitters are %s", name, strings.Join(Names(), ", "), strings.Join(stageNames(), ", "))
		case p.Required:
			return fmt.Errorf("pass %q cannot be disabled: later stages need it", name)
		}
	}
	return nil
}

func perFunc(run func(*ir.Func)) func(*ir.Module, *Options) error {
	return func(m *ir.Module, _ *Options) error {
		for _, f := range m.Funcs {
			run(f)
		}
		return nil
	}
}
