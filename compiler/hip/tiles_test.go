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
// nothing is spilled, and each step is a matrix instruction. What a code object needs is in the log;
// a test of tests/ops lists the configurations that products have.
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
			resources(t, clang, c.arch, name, tiles(t, c.arch, "Tiles", c.types, c.consts))
		})
	}
}

// TestTileChains does so with products whose factor is the sums of another one, or the transpose of
// these, and with attention.
func TestTileChains(t *testing.T) {
	clang := tooltest.Find(t, "KILN_CLANG", "clang-19", "clang")
	config := func(m, n, down, b int64) map[string]int64 {
		return map[string]int64{"M": m, "N": n, "K": 64, "Down": down, "Across": 1, "Stages": 2, "Chunk": 8, "A": 0, "B": b, "AVec": 1, "BVec": 1, "Bulk": 0, "Cluster": 1, "OutSize": 0, "Promote": 0}
	}
	types := []string{"dsl.BF16", "float32"}
	for _, arch := range []string{"gfx90a", "gfx942", "gfx1100", "gfx1201"} {
		for _, kernel := range []string{"TileChain", "TileCross", "Attend"} {
			t.Run(arch+"/"+kernel, func(t *testing.T) {
				t.Parallel()
				cfg, then := config(64, 64, 4, 0), config(64, 64, 4, 1)
				if kernel == "TileCross" {
					then["A"] = 1
				}
				switch {
				case arch != "gfx1201": // on which a lane loads 8 elements of a column of a factor one by one
				case kernel == "TileCross":
					then["K"] = 32
				default:
					cfg["N"], then["K"] = 32, 32
				}
				resources(t, clang, arch, kernel+" "+arch, tiles(t, arch, kernel, types, cfg, then))
			})
		}
	}
}

// resources compiles a text and says what the code object needs. It spills nothing and has matrix
// instructions.
func resources(t *testing.T, clang, arch, name string, text []byte) {
	file := filepath.Join(t.TempDir(), "tiles.hip")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	out, err := exec.Command(clang, "-x", "hip", "--offload-arch="+arch, "--cuda-device-only", "-nogpulib", "-nogpuinc", "-O3", "-S", "-o", file+".s", file).CombinedOutput()
	require.NoError(t, err, "%.4000s", out)
	code, err := os.ReadFile(file + ".s")
	require.NoError(t, err)
	number := func(what string) int {
		found := regexp.MustCompile(`(?m)` + what + `:? +(\d+)\b`).FindSubmatch(code)
		require.NotNil(t, found, what)
		n, err := strconv.Atoi(string(found[1]))
		require.NoError(t, err)
		return n
	}
	require.Zero(t, number("; ScratchSize"))
	require.Zero(t, number(`\.vgpr_spill_count`))
	require.Zero(t, number(`\.sgpr_spill_count`))
	require.Regexp(t, `\tv_(mfma|wmma)_`, string(code))
	vector := "; NumVgprs"
	if strings.HasPrefix(arch, "gfx9") {
		vector = "; TotalNumVgprs" // with those for sums
	}
	t.Logf("| %s | %d | %d | %d |", name, number(vector), number("; NumSgprs"), number("; LDSByteSize"))
}

// tiles is a kernel as HIP text, with configurations cfg and then.
func tiles(t *testing.T, arch, kernel string, types []string, configs ...map[string]int64) []byte {
	req := front.Request{Pkg: "github.com/gokiln/kiln/tests/conformance/kernels", Func: kernel, TypeArgs: types, Consts: map[string]int64{}}
	for i, c := range configs {
		for field, v := range c {
			req.Consts[[]string{"cfg.", "then."}[i]+field] = v
		}
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
