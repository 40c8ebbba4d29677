package hip_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/hip"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	_ "github.com/gokiln/kiln/tests/conformance/kernels" // their source
	"github.com/gokiln/kiln/tests/everykernel"
)

// TestTiles gives configurations that products use to clang: sums and factors stay in registers,
// nothing is spilled, and each step is a matrix instruction. What a code object needs is in the log,
// as bench/README.md lists it.
func TestTiles(t *testing.T) {
	clang := tooltest.Find(t, "KILN_CLANG", "clang-19", "clang")
	config := func(m, n, k, down, across, stages, chunk, b int64) map[string]int64 {
		return map[string]int64{"M": m, "N": n, "K": k, "Down": down, "Across": across, "Stages": stages, "Chunk": chunk, "A": 0, "B": b, "AVec": 1, "BVec": 1, "Bulk": 0, "Cluster": 1, "OutSize": 0, "Promote": 0}
	}
	bf16, f16, f64 := []string{"dsl.BF16", "float32"}, []string{"dsl.F16", "float32"}, []string{"float64", "float64"}
	tf32, i8, u8 := []string{"dsl.TF32", "float32"}, []string{"int8", "int32"}, []string{"uint8", "uint32"}
	for _, c := range []struct {
		arch   string
		types  []string
		consts map[string]int64
	}{
		{"gfx90a", bf16, config(128, 128, 64, 2, 2, 2, 8, 0)},
		{"gfx90a", f64, config(64, 128, 16, 2, 2, 2, 2, 1)},
		{"gfx942", bf16, config(128, 128, 64, 2, 2, 2, 8, 0)},
		{"gfx942", f16, config(64, 128, 64, 2, 2, 2, 8, 1)},
		{"gfx90a", i8, config(64, 128, 128, 2, 2, 2, 16, 0)},
		{"gfx942", i8, config(64, 128, 128, 2, 2, 2, 16, 0)},
		{"gfx1100", i8, config(64, 64, 128, 2, 1, 2, 16, 0)},
		{"gfx1100", u8, config(64, 64, 128, 2, 1, 2, 16, 0)},
		{"gfx1201", i8, config(64, 64, 128, 2, 1, 2, 16, 0)},
		{"gfx1201", u8, config(64, 64, 128, 2, 1, 2, 16, 0)},
		{"gfx942", tf32, config(64, 64, 32, 2, 1, 4, 4, 0)},
		{"gfx1100", bf16, config(64, 128, 64, 2, 2, 2, 8, 0)},
		{"gfx1100", f16, config(64, 64, 64, 2, 1, 4, 8, 1)},
		{"gfx1201", bf16, config(64, 128, 64, 2, 2, 2, 8, 0)},
		{"gfx1201", f16, config(64, 64, 64, 2, 1, 4, 8, 1)},
	} {
		name := fmt.Sprintf("%s/%v/%dx%d/%d", c.arch, c.types, c.consts["M"], c.consts["N"], c.consts["B"])
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "tiles.hip")
			require.NoError(t, os.WriteFile(file, tiles(t, c.arch, c.types, c.consts), 0o600))
			out, err := exec.Command(clang, "-x", "hip", "--offload-arch="+c.arch, "--cuda-device-only", "-nogpulib", "-nogpuinc", "-O3", "-S", "-o", file+".s", file).CombinedOutput()
			require.NoError(t, err, "%.4000s", out)
			text, err := os.ReadFile(file + ".s")
			require.NoError(t, err)
			number := func(what string) int {
				found := regexp.MustCompile(`(?m)` + what + `:? +(\d+)\b`).FindSubmatch(text)
				require.NotNil(t, found, what)
				n, err := strconv.Atoi(string(found[1]))
				require.NoError(t, err)
				return n
			}
			require.Zero(t, number("; ScratchSize"))
			require.Zero(t, number(`\.vgpr_spill_count`))
			require.Zero(t, number(`\.sgpr_spill_count`))
			require.Regexp(t, `\tv_(mfma|wmma)_`, string(text))
			vector := "; NumVgprs"
			if strings.HasPrefix(c.arch, "gfx9") {
				vector = "; TotalNumVgprs" // with those for sums
			}
			t.Logf("| %s | %d | %d | %d |", name, number(vector), number("; NumSgprs"), number("; LDSByteSize"))
		})
	}
}

// tiles is the kernel as HIP text.
func tiles(t *testing.T, arch string, types []string, consts map[string]int64) []byte {
	req := front.Request{Pkg: "github.com/gokiln/kiln/tests/conformance/kernels", Func: "Tiles", TypeArgs: types, Consts: map[string]int64{}}
	for field, v := range consts {
		req.Consts["cfg."+field] = v
	}
	prog, err := compiler.Front(req, compiler.Registered)
	require.NoError(t, err)
	tgt, err := target.Parse("hip:" + arch)
	require.NoError(t, err)
	m, err := prog.Optimize(tgt, everykernel.Fast)
	require.NoError(t, err)
	text, err := hip.Language.Emit(m, tgt, cfamily.Options{Disjoint: true})
	require.NoError(t, err)
	return []byte(text)
}
