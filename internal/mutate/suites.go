package main

import (
	"path"
	"strings"
)

// suite is the tests that are for the code of a folder, those that are quick first.
type suite struct {
	dir   string // the folder, and those below it that no other row is for
	tests []test

	kernels bool // the compiler reads the code, so that a mutant is alone in it
}

// test is arguments of go test.
type test []string

// skipped are tests that compare the whole of the compiler's output with what it was: they notice
// any change, right or wrong, and a test of time, which fails on a busy machine. TestCases of the
// passes is not among them: its cases are what one pass is to make of a few lines.
const skipped = "TestVersion|TestReference|TestGolden|TestDominatorsAreFast"

// slow are tests of passes that try many values.
const slow = "TestStrengthMeaning|TestReciprocal|TestMeaning|TestIdentities|TestIdentityChains"

// native are the conformance cases as machine code of this processor, which is what most tests of
// the compiler do not reach.
var native = test{"./tests/conformance", "-short", "-run", "TestCPU"}

var suites = []suite{
	{"compiler/ir", []test{{"./compiler/ir", "-short"}, {"./compiler/pass", "-short", "-skip", skipped + "|" + slow}, {"./tests/irconf", "-run", "TestInterp|TestNative"}}, false},
	{"compiler/analysis", []test{{"./compiler/analysis"}, {"./compiler/pass", "-short", "-skip", skipped + "|" + slow}, {"./compiler/amd64", "-short"}, {"./tests/irconf", "-run", "TestNative"}, {"./compiler", "-short"}, {"./compiler/pass", "-run", slow}, native, {"./ops", "-short", "-run", "TestOps/cpu$"}}, false},
	{"compiler/pass", []test{{"./compiler/pass", "-short", "-skip", skipped + "|" + slow}, {"./compiler", "-short"}, {"./compiler/pass", "-run", slow}, native, {"./ops", "-short", "-run", "TestOps/cpu$"}}, false},
	{"compiler/front", []test{{"./compiler/front", "-short"}, {"./compiler", "-short"}, native}, false},
	{"compiler/ptx", []test{{"./compiler/ptx", "-short"}, {"./tests/irconf"}, {"./tests/everykernel"}}, false},
	{"compiler/cfamily", []test{{"./compiler/hip", "./compiler/msl"}, {"./tests/opencl"}, {"./tests/sim/..."}}, false},
	{"compiler/amd64", []test{{"./compiler/amd64/...", "-short"}, {"./tests/irconf", "-run", "TestNative"}, native, {"./ops", "-short", "-run", "TestOps/cpu$"}}, false},
	{"compiler/interp", []test{{"./compiler/interp", "-short"}, {"./tests/irconf", "-run", "TestInterp"}, {"./tests/races", "-short"}, native}, false},
	{"dsl", []test{{"./dsl/...", "-short"}, native}, true},
	{"jit", []test{{"./jit/...", "-short"}, {"./runtime", "-short"}}, false},
	{"cache", []test{{"./cache/...", "-short"}, {"./cache/..."}, {"./jit", "-short"}}, false},
	{"runtime", []test{{"./runtime/...", "-short"}, {"./tests/faults", "-short"}, {"./jit", "-short"}}, false},
	{kernelsOfOps, []test{{"./ops", "-short"}, {"./tensor", "-short"}}, true},
	{"ops", []test{{"./ops/layout", "./ops/dtype"}, {"./ops", "-short"}, {"./tensor", "-short"}}, false},
	{"quantized/gguf", []test{{"./quantized/gguf"}}, false},
	{"quantized/ggml", []test{{"./quantized/ggml"}}, false},
	{"quantized/checkpoint/kernels", []test{{"./quantized/checkpoint", "-short", "-run", "/cpu$"}}, true},
	{"quantized/checkpoint", []test{{"./quantized/checkpoint", "-short", "-skip", "/(gfx942|metal|cpu:interp)$"}}, false},
	{"quantized/imatrix", []test{{"./quantized/imatrix"}}, false},
	{"quantized/recipe", []test{{"./quantized/recipe"}}, false},
	{"tensor", []test{{"./tensor", "-short"}, {"./tensor/..."}}, false},
}

// kernelsOfOps is the row of the kernels of every family of operations.
const kernelsOfOps = "ops/kernels"

// suiteOf returns the row for a folder, nil if there is none.
func suiteOf(dir string) *suite {
	if family, ok := strings.CutSuffix(path.Clean(dir), "/kernels"); ok && path.Dir(family) == "ops" {
		dir = kernelsOfOps
	}
	for dir = path.Clean(dir); dir != "." && dir != "/"; dir = path.Dir(dir) {
		for i := range suites {
			if suites[i].dir == dir {
				return &suites[i]
			}
		}
	}
	return nil
}

// passedOver reports whether a file has no code to change: tests, generated code, what stands in
// for other systems.
func passedOver(name string) bool {
	if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "zz_") || name == "doc.go" {
		return true
	}
	base := strings.TrimSuffix(name, ".go")
	for _, system := range []string{"_windows", "_darwin", "_other", "_unix", "_arm64"} {
		if strings.HasSuffix(base, system) {
			return true
		}
	}
	return false
}
