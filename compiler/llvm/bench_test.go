package llvm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/llvm"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/tests/everykernel"
)

// BenchmarkEmit writes the kernels of this repository, after the passes.
func BenchmarkEmit(b *testing.B) {
	tgt, err := target.Parse("llvm:gfx942")
	require.NoError(b, err)
	modules := everykernel.Modules(b, everykernel.Programs(b), tgt, everykernel.Fast)
	b.ReportAllocs()
	for b.Loop() {
		for _, m := range modules {
			_, err := llvm.Emit(m, tgt)
			require.NoError(b, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(modules)), "µs/kernel")
}
