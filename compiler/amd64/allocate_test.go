package amd64_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/amd64"
	"github.com/gokiln/kiln/compiler/amd64/regalloc"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tests/everykernel"
)

// TestAllocations proves the allocation of registers in kernels of this repository:
// each instruction reads what it read before.
func TestAllocations(t *testing.T) {
	amd64.CheckAllocations()
	var some []*compiler.Program
	for i, p := range everykernel.Programs(t) {
		step := 1 // proofs take their time, and a sweep has many kernels that are alike
		if testing.Short() {
			step = 3
		}
		if tooltest.Sweeps() {
			step *= 3
		}
		if i%step == 0 {
			some = append(some, p)
		}
	}
	for _, name := range []string{"cpu:x86-64-v3", "cpu:x86-64-v4"} {
		t.Run(name, func(t *testing.T) {
			tgt, err := target.Parse(name)
			require.NoError(t, err)
			compiled := 0
			proved := map[string]int{} // long kernels by their names without types and compile-time values
			for i, m := range everykernel.Modules(t, some, tgt, everykernel.Fast) {
				if n := instructions(m); n > long {
					if !tooltest.Sweeps() {
						t.Logf("KILN_SWEEP=all proves %s, too, of %d instructions", some[i].Kernel, n)
						continue
					}
					base, _, _ := strings.Cut(strings.Replace(some[i].Kernel, "{", "[", 1), "[")
					if proved[base]++; proved[base] > mostLong || n > tooLong {
						t.Logf("not proved: %s of %d instructions", some[i].Kernel, n)
						continue
					}
				}
				_, err := amd64.Emit(m, tgt)
				for _, bad := range []error{regalloc.ErrWrong, regalloc.ErrPressure, regalloc.ErrUndefined, regalloc.ErrShape} {
					require.NotErrorIs(t, err, bad, some[i].Kernel)
				}
				if err == nil { // other failures are other tests' concern
					compiled++
				}
			}
			require.Greater(t, compiled, len(some)/2)
		})
	}
}

// long is from how many instructions on a proof takes seconds: its time grows with the blocks of a
// kernel and with its registers.
const long = 3000

// mostLong is how many long instances of a kernel are proved: they take minutes and gigabytes.
const mostLong = 1

// tooLong is from how many instructions on a proof takes more memory than there may be.
const tooLong = 6000

func instructions(m *ir.Module) (n int) {
	for _, b := range m.Kernel().Blocks {
		n += len(b.Instrs)
	}
	return n
}
