package llvm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/llvm"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
	_ "github.com/gokiln/kiln/tests/conformance/kernels" // their source
	"github.com/gokiln/kiln/tests/everykernel"
)

// TestTiles makes code of products of package tile by the matrix instructions of each target: each is
// in it, sums and factors stay in registers, and nothing is spilled. Package ptx runs what is for NVIDIA.
func TestTiles(t *testing.T) {
	config := func(m, n, k, chunk int64) map[string]int64 {
		return map[string]int64{"M": m, "N": n, "K": k, "Down": 2, "Across": 1, "Stages": 2, "Chunk": chunk, "A": 0, "B": 0, "AVec": 1, "BVec": 1, "Bulk": 0, "Cluster": 1, "OutSize": 0, "Promote": 0}
	}
	for _, c := range []struct {
		elem, sum string
		consts    map[string]int64
		arches    []string
	}{
		{"dsl.BF16", "float32", config(64, 64, 64, 8), []string{"gfx90a", "gfx942", "gfx1100", "gfx1201", "sm_80"}},
		{"dsl.F16", "float32", config(64, 64, 64, 8), []string{"gfx90a", "gfx942", "gfx1100", "gfx1201", "sm_80"}},
		{"dsl.TF32", "float32", config(64, 64, 32, 4), []string{"gfx942", "sm_80"}},
		{"float64", "float64", config(32, 64, 16, 2), []string{"gfx90a", "gfx942", "sm_80", "sm_90"}},
		{"int8", "int32", config(64, 64, 128, 16), []string{"gfx90a", "gfx942", "gfx1100", "gfx1201", "sm_80"}},
		{"uint8", "uint32", config(64, 64, 128, 16), []string{"gfx1100", "gfx1201", "sm_80"}},
		{"dsl.F8E4M3", "float32", config(32, 64, 128, 16), []string{"sm_89"}},
	} {
		for _, arch := range c.arches {
			t.Run(arch+"/"+c.elem, func(t *testing.T) {
				t.Parallel()
				tgt, err := target.Parse("llvm:" + arch)
				require.NoError(t, err)
				tools, err := llvm.FindTools(tgt)
				tooltest.Need(t, err)
				req := front.Request{Pkg: "github.com/gokiln/kiln/tests/conformance/kernels", Func: "Tiles", TypeArgs: []string{c.elem, c.sum}, Consts: map[string]int64{}}
				for field, v := range c.consts {
					req.Consts["cfg."+field] = v
				}
				prog, err := compiler.Front(req, compiler.Registered)
				require.NoError(t, err)
				art, err := prog.Emit(tgt, everykernel.Fast)
				require.NoError(t, err)
				code, err := tools.Build(t.Context(), string(art.Code), tgt)
				require.NoError(t, err)
				if tgt.CC != 0 {
					require.Contains(t, string(code), "mma.sync")
					require.NotContains(t, string(code), ".local")
					assemble(t, arch, code)
					return
				}
				file := filepath.Join(t.TempDir(), "tiles.hsaco")
				require.NoError(t, os.WriteFile(file, code, 0o600))
				require.Regexp(t, `\tv_(mfma|wmma)_`, output(t, "llvm-objdump", "-d", file))
				notes := output(t, "llvm-readelf", "--notes", file)
				for _, name := range []string{"private_segment_fixed_size", "vgpr_spill_count", "sgpr_spill_count"} {
					require.Regexp(t, `\.`+name+`:\s+0\b`, notes)
				}
			})
		}
	}
}

// output is what a program of LLVM prints.
func output(t *testing.T, name string, args ...string) string {
	out, err := exec.Command(tooltest.Find(t, "", name+"-19", name), args...).Output()
	require.NoError(t, err)
	return string(out)
}
