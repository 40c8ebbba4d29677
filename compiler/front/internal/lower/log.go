package lower

import (
	"fmt"
	"go/constant"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/devlog"
)

// dsl.Assert and dsl.Printf take texts and values: what kernels have not otherwise. Their calls are
// lowered as a whole, texts and the slice of interface values that go/ssa makes of the arguments
// included.

// logText is the index of the text among the arguments of a function that takes
// one, by its key in the table of intrinsics.
var logText = map[string]int{"dsl.Assert": 2, "dsl.Printf": 1}

// TextArg returns the index of the text among the arguments of a function that takes one, 0 for
// others.
func TextArg(key string) int { return logText[key] }

// skipLogArgs marks the instructions that make the slices of arguments of calls
// with texts, and notes what they put into them.
func (f *funcLower) skipLogArgs() {
	for _, b := range f.fn.Blocks {
		for _, in := range b.Instrs {
			call, ok := in.(*ssa.Call)
			if !ok {
				continue
			}
			key := f.logKey(call)
			if key == "" {
				continue
			}
			if f.printed == nil {
				f.printed, f.skipped = map[*ssa.Call][]ssa.Value{}, map[ssa.Instruction]bool{}
			}
			if s, ok := call.Call.Args[logText[key]+1].(*ssa.Slice); ok {
				f.printed[call] = f.skipSlice(s)
			}
		}
	}
}

// skipSlice marks what makes a slice of interface values, and returns the values.
func (f *funcLower) skipSlice(s *ssa.Slice) []ssa.Value {
	array, ok := s.X.(*ssa.Alloc)
	if !ok {
		return nil
	}
	f.skipped[s], f.skipped[array] = true, true
	values := make([]ssa.Value, gotype.Deref(array.Type()).Underlying().(*types.Array).Len())
	for _, r := range *array.Referrers() {
		at, ok := r.(*ssa.IndexAddr)
		if !ok {
			continue
		}
		f.skipped[at] = true
		i, _ := inRange(at.Index, int64(len(values)))
		for _, r := range *at.Referrers() {
			if st, ok := r.(*ssa.Store); ok {
				f.skipped[st] = true
				if box, ok := st.Val.(*ssa.MakeInterface); ok {
					f.skipped[box] = true
					values[i] = box.X
				}
			}
		}
	}
	return values
}

// logKey returns the key of the function with a text that in calls, "" for others.
func (f *funcLower) logKey(in *ssa.Call) string {
	fn := in.Call.StaticCallee()
	if fn == nil || fn.Pkg == nil && fn.Object() == nil {
		return ""
	}
	if key := f.l.callee(fn).Key; logText[key] > 0 {
		return key
	}
	return ""
}

// logCall lowers a call with a text.
func (f *funcLower) logCall(in *ssa.Call, key string) val {
	text, ok := in.Call.Args[logText[key]].(*ssa.Const)
	if !ok {
		f.report(diag.LogCall, "text of %s is not a constant", key)
		return badVal
	}
	format := constant.StringVal(text.Value)
	var args []*ir.Value
	var zeros []any
	for _, x := range f.printed[in] {
		if x == nil || !gotype.IsPrintable(x.Type()) {
			what := "a value that is not known"
			if x != nil {
				what = gotype.Name(x.Type())
			}
			f.report(diag.LogCall, "%s prints numbers and bools, not %s", key, what)
			return badVal
		}
		v := f.scalar(x)
		args, zeros = append(args, v), append(zeros, zeroOf(x.Type(), v.Type))
	}
	if c, ok := in.Call.Args[logText[key]+1].(*ssa.Const); f.printed[in] == nil && (!ok || c.Value != nil) {
		f.report(diag.LogCall, "arguments of %s are a slice", key)
		return badVal
	}
	if wrong := badFormat(format, zeros); wrong != "" && (key == "dsl.Printf" || len(args) > 0) {
		f.report(diag.LogCall, "format %q of %s does not fit the arguments: it prints %s", format, key, wrong)
		return badVal
	}
	if key == "dsl.Assert" {
		return f.assert(f.scalar(in.Call.Args[1]), format, args)
	}
	f.emit(ir.OpPrint, ir.Void, args...).Imm = f.l.text(format)
	return val{}
}

// assert emits an assertion. A text without values is no format.
func (f *funcLower) assert(cond *ir.Value, text string, values []*ir.Value) val {
	if len(values) > devlog.FailureValues {
		f.report(diag.LogCall, "dsl.Assert takes at most %d values", devlog.FailureValues)
		return badVal
	}
	args := []*ir.Value{cond}
	for _, v := range values {
		if !v.Type.IsInt() {
			f.report(diag.LogCall, "values of dsl.Assert are integers, not %v", v.Type)
			return badVal
		}
		if v.Type != ir.I64 {
			v = f.emit(ir.OpConvert, ir.I64, v)
		}
		args = append(args, v)
	}
	f.emit(ir.OpAssert, ir.Void, args...).Imm = f.l.text(text)
	return val{}
}

// zeroOf returns zero of the basic type under a Go type that is t in IR.
func zeroOf(goType types.Type, t *ir.Type) any {
	b, _ := goType.Underlying().(*types.Basic)
	switch {
	case b != nil && (b.Kind() == types.Int || b.Kind() == types.UntypedInt):
		return 0
	case b != nil && b.Kind() == types.Uint:
		return uint(0)
	}
	return t.Value(0)
}

// badFormat returns what package fmt prints in place of a value where a format and
// the arguments do not fit, "" if they do. Types are not known to a launch.
func badFormat(format string, args []any) string {
	format = strings.ReplaceAll(format, "%%", "")
	if strings.Contains(format, "%T") {
		return "a type"
	}
	out := fmt.Sprintf(format, args...)
	if i := strings.Index(out, "%!"); i >= 0 {
		return out[i:]
	}
	return ""
}

// text returns the number of a text of the module.
func (l *lowerer) text(s string) uint64 {
	for i, t := range l.m.Texts {
		if t == s {
			return uint64(i)
		}
	}
	l.m.Texts = append(l.m.Texts, s)
	return uint64(len(l.m.Texts) - 1)
}

// byLogCall is reached through function values only, which hide the text.
func byLogCall(c *callSite) val {
	c.f.report(diag.FuncValue, "dsl.%s is called by another name", c.fn.Name())
	return badVal
}
