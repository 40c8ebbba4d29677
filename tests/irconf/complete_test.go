package irconf_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/cuda"
	"github.com/gokiln/kiln/compiler/hip"
	"github.com/gokiln/kiln/compiler/interp"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/llvm"
	"github.com/gokiln/kiln/compiler/msl"
	"github.com/gokiln/kiln/compiler/opencl"
	"github.com/gokiln/kiln/compiler/ptx"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/tests/irconf"
)

// targets has a row for each emitter: the spellings that it has of an operation,
// or the reason why it has none. A new emitter adds its row.
var targets = []struct {
	name     string
	spelling func(op ir.Op) (spellings int, why string)
}{
	{"interp", func(op ir.Op) (int, string) {
		if why := interp.Unsupported(op); why != "" {
			return 0, why
		}
		return loads(op), ""
	}},
	{"ptx", func(op ir.Op) (int, string) {
		list, why := ptx.Spellings(op)
		return len(list), why
	}},
	{"cuda", structured(cuda.Language)},
	{"hip", structured(hip.Language)},
	{"msl", structured(msl.Language)},
	{"opencl", structured(opencl.Language)},
	{"llvm", llvm.Spellings},
}

// structured returns the spellings of a C-like language.
func structured(l *cfamily.Language) func(op ir.Op) (int, string) {
	return func(op ir.Op) (n int, why string) {
		if why := l.Lacks(op); why != "" {
			return 0, why
		}
		if why := cfamily.Coded[op]; why != "" {
			return 0, why
		}
		for _, r := range slices.Concat(l.Rows, cfamily.Rows) {
			if r.Op == op {
				n++
			}
		}
		return n, ""
	}
}

// elsewhere lists the operations that no case of this package has, with the test
// that has them and a word to look for in it.
var elsewhere = map[ir.Op]struct{ file, word string }{
	ir.OpCall:        {"../../compiler/pass/testdata/inline.ir", "call @"},
	ir.OpProj:        {"../../compiler/pass/testdata/inline.ir", "proj "},
	ir.OpLocalSized:  {"../../compiler/pass/size_test.go", "local.sized"},
	ir.OpSharedSized: {"../../compiler/pass/size_test.go", "shared.sized"},
	ir.OpLaunch:      {"../../jit/specialise_test.go", "dsl.LaunchBounds"},
	ir.OpGridBarrier: {"../conformance/grid/grid.go", "t.SyncGrid("},
	ir.OpLoadBytes:   {"../../compiler/pass/testdata/runs.ir", "load.bytes %"},
	ir.OpWhole:       {"../../compiler/pass/testdata/peel.ir", "whole %"},
	ir.OpTable:       {"../conformance/language/tables.go", "crcTable["},
	ir.OpCopyAsync:   {"../conformance/kernels/copies.go", "dsl.CopyAsync("},
	ir.OpCopyVec:     {"../conformance/kernels/copies.go", "dsl.CopyVecAsync"},
	ir.OpCopyCommit:  {"../conformance/kernels/copies.go", "dsl.CopyCommit("},
	ir.OpCopyGroups:  {"../conformance/kernels/copies.go", "dsl.CopyWaitGroups("},
	ir.OpCopyBegun:   {"../../compiler/interp/race_test.go", "copy.begun %"},
	ir.OpMBarInit:    {"../../compiler/ptx/mbarrier_test.go", "mbarrier.init %"},
	ir.OpMBarArrive:  {"../../compiler/ptx/mbarrier_test.go", "mbarrier.arrive %"},
	ir.OpMBarExpect:  {"../../compiler/ptx/mbarrier_test.go", "mbarrier.arrive.expect %"},
	ir.OpMBarTest:    {"../../compiler/ptx/mbarrier_test.go", "mbarrier.test %"},
	ir.OpCopyWait:    {"../conformance/kernels/copies.go", "dsl.CopyWait("},
	// Conformance's tiles run package tile.
	ir.OpMatrixFact:      {"../../dsl/tile/multiply.go", "dsl.MatrixShape["},
	ir.OpMatrixRow:       {"../../dsl/tile/multiply.go", "dsl.MatrixRow["},
	ir.OpMatrixCol:       {"../../dsl/tile/multiply.go", "dsl.MatrixCol["},
	ir.OpMMA:             {"../../dsl/tile/multiply.go", "dsl.MMA("},
	ir.OpLoadMatrix:      {"../../dsl/tile/multiply.go", "dsl.LoadMatrix("},
	ir.OpPackedMMA:       {"../../ops/matmul/kernels/gemm_blocks.go", "dsl.PackedMMA("},
	ir.OpWarpgroupMMA:    {"../../dsl/tile/multiply.go", "dsl.WarpgroupMMA("},
	ir.OpWarpgroupFence:  {"../../dsl/tile/multiply.go", "dsl.WarpgroupFence("},
	ir.OpWarpgroupCommit: {"../../dsl/tile/multiply.go", "dsl.WarpgroupCommit("},
	ir.OpWarpgroupWait:   {"../../dsl/tile/multiply.go", "dsl.WarpgroupWait("},
	ir.OpWarpgroupRegs:   {"../../dsl/tile/bulk.go", "dsl.MoreRegisters("},
	ir.OpCopyTensor:      {"../../dsl/tile/bulk.go", "dsl.CopyTensorAsync("},
	ir.OpCopyPixels:      {"../../dsl/tile/gather.go", "dsl.CopyPixelsAsync("},
	ir.OpStoreTensor:     {"../../dsl/tile/store.go", "dsl.StoreTensorAsync("},
	ir.OpStoreWait:       {"../../dsl/tile/store.go", "dsl.StoreTensorWait("},
	ir.OpMBarRemote:      {"../../dsl/tile/bulk.go", ".ArriveRemote("},
	ir.OpClusterSync:     {"../../dsl/tile/bulk.go", "t.SyncCluster("},
	ir.OpCluster:         {"../../dsl/tile/bulk.go", "dsl.Cluster("},
	ir.OpAsyncFence:      {"../../dsl/tile/multiply.go", "dsl.AsyncFence("},
	ir.OpAssert:          {"../conformance/kernels/log.go", "dsl.Assert("},
	ir.OpPrint:           {"../conformance/kernels/log.go", "dsl.Printf("},
	ir.OpDivisor:         {"../conformance/fault.go", "integer divide by zero"},
	ir.OpNonNil:          {"../conformance/kernels/fault.go", "*c.at"},
	ir.OpCount:           {"../conformance/kernels/fault.go", "<<"},
}

// TestEveryKindIsEnrolled checks that targets has a row for each kind of target but that of machine
// code for CPUs, whose operations [TestNative] runs.
func TestEveryKindIsEnrolled(t *testing.T) {
	want, have := map[string]bool{target.Native: true}, map[string]bool{target.Native: true}
	for _, tgt := range target.All() {
		want[tgt.Kind] = true
	}
	for _, row := range targets {
		have[row.name] = true
	}
	require.Equal(t, want, have, "kinds of target, and rows of targets")
}

// TestOpTableComplete walks the table of operations. Each must have a reference
// that says what it gives, a spelling on each target or a reason for none, a test
// that compares targets with the reference, and a line in the documentation.
func TestOpTableComplete(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference.md")
	require.NoError(t, err)
	for op := range ir.Ops {
		other, noCase := elsewhere[op]
		assert.NotEqual(t, noCase, len(casesOf(op)) > 0, "%s: no case of package irconf has it, and no entry in elsewhere names another test (or both)", op)
		if noCase {
			text, err := os.ReadFile(other.file)
			require.NoError(t, err)
			assert.True(t, strings.Contains(string(text), other.word), "%s: %s should test it", op, other.file)
		}
		if op.Pure() && op.Info().Args > 0 && scalar(op) {
			assert.True(t, evaluated(op), "%s: ir.Eval, the reference, does not know it", op)
		}
		for _, tgt := range targets {
			n, why := tgt.spelling(op)
			assert.True(t, n > 0 != (why != ""), "%s: %s has %d spellings, and for none the reason %q", op, tgt.name, n, why)
		}
		row := regexp.MustCompile(fmt.Sprintf("(?m)^\\| `%s` \\| \\S", regexp.QuoteMeta(op.String())))
		assert.True(t, row.Match(page), "%s: no line in docs/reference.md", op)
	}
}

// byOp lists the cases whose kernels have an operation.
var byOp map[ir.Op][]irconf.Case

func casesOf(op ir.Op) []irconf.Case {
	if byOp != nil {
		return byOp[op]
	}
	byOp = map[ir.Op][]irconf.Case{}
	for _, c := range irconf.Cases() {
		m, err := ir.Parse(c.Text)
		if err != nil {
			panic(fmt.Sprintf("%s: %v", c.Name, err))
		}
		has := map[ir.Op]bool{}
		for _, b := range m.Kernel().Blocks {
			has[ir.OpBlockParam] = has[ir.OpBlockParam] || len(b.Params) > 0
			for _, v := range b.Instrs {
				has[v.Op] = true
			}
		}
		has[ir.OpParam] = len(m.Kernel().Params) > 0
		for op := range has {
			if has[op] {
				byOp[op] = append(byOp[op], c)
			}
		}
	}
	return byOp[op]
}

// loads counts the programs with op that the interpreter takes: one is enough.
// Without a case, the operation has to be in a kernel of package conformance.
func loads(op ir.Op) int {
	cases := casesOf(op)
	if len(cases) == 0 {
		return 1 // elsewhere names the test that runs it
	}
	for _, c := range cases {
		if _, err := interp.Load(c.Name, []byte(c.Text)); err == nil {
			return 1
		}
	}
	return 0
}

// scalar reports whether the rule of op is about numbers alone.
func scalar(op ir.Op) bool {
	switch op.Info().Rule {
	case ir.RuleArith, ir.RuleInt, ir.RuleWord, ir.RuleLogic, ir.RuleFloat, ir.RuleShift, ir.RuleCompare, ir.RuleBoolArith,
		ir.RuleConvert, ir.RuleBitcast, ir.RuleSelect:
		return true
	}
	return false
}

// evaluated reports whether ir.Eval knows op for some type.
func evaluated(op ir.Op) bool {
	for _, t := range ir.Scalars {
		for _, first := range []*ir.Type{t, ir.Bool} { // of a selection
			for _, last := range []*ir.Type{t, ir.U32} { // of a shift
				args := []*ir.Type{first, t, t}[:op.Info().Args]
				if n := len(args); n > 1 {
					args[n-1] = last
				}
				if _, ok := ir.Eval(op, t, 0, make([]uint64, len(args)), args); ok {
					return true
				}
			}
		}
	}
	return strings.HasPrefix(op.String(), "approx.") // compared within a bound
}
