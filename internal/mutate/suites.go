package main

import (
	"path"
	"strings"
)

// suite is the tests that are for the code of a folder, those that are quick first.
type suite struct {
	dir   string // the folder, and those below it that no other row is for
	tests []test
}

// test is arguments of go test.
type test []string

// skipped are tests that compare the whole of the compiler's output with what it was: they notice
// any change, right or wrong.
const skipped = "TestVersion|TestReference|TestGolden"

var suites = []suite{
	{"compiler/ir", []test{{"./compiler/ir"}, {"./compiler/pass"}, {"./tests/irconf"}}},
	{"compiler/pass", []test{{"./compiler/pass"}, {"./compiler"}, {"./tests/conformance", "-short"}, {"./ops", "-run", "TestOps/cpu$"}}},
	{"compiler/front", []test{{"./compiler/front"}, {"./tests/conformance", "-short"}}},
	{"compiler/ptx", []test{{"./compiler/ptx"}, {"./tests/irconf"}, {"./tests/everykernel"}}},
	{"compiler/cfamily", []test{{"./compiler/hip", "./compiler/msl"}, {"./tests/opencl"}, {"./tests/sim/..."}}},
	{"compiler/amd64", []test{{"./compiler/amd64/..."}, {"./tests/irconf"}, {"./tests/conformance", "-short"}, {"./ops", "-run", "TestOps/cpu$"}}},
	{"compiler/interp", []test{{"./compiler/interp"}, {"./tests/irconf"}, {"./tests/races"}, {"./tests/conformance", "-short"}}},
	{"dsl", []test{{"./dsl/..."}, {"./tests/conformance", "-short"}}},
	{"jit", []test{{"./jit"}, {"./runtime", "-short"}}},
	{"cache", []test{{"./cache/..."}}},
	{"runtime", []test{{"./runtime/...", "-short"}, {"./tests/faults", "-short"}, {"./jit"}}},
	{"ops/kernels", []test{{"./ops/kernels"}, {"./ops"}, {"./tensor", "-short"}}},
	{"ops", []test{{"./ops/..."}, {"./tensor", "-short"}}},
	{"tensor", []test{{"./tensor", "-short"}, {"./tensor/..."}}},
}

// suiteOf returns the row for a folder, nil if there is none.
func suiteOf(dir string) *suite {
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
