package llvm_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/llvm"
	"github.com/gokiln/kiln/compiler/pass"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
)

const (
	module = "github.com/gokiln/kiln"
	root   = "../.."
)

// kernelFolders returns the folders of this repository that have kernels.
func kernelFolders(t *testing.T) (list []string) {
	seen := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || seen[filepath.Dir(path)]:
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), "\n//kiln:kernel\n") {
			seen[filepath.Dir(path)] = true
			list = append(list, filepath.Dir(path))
		}
		return err
	}))
	return list
}

func load(path string) (*front.Package, error) {
	if rel, ok := strings.CutPrefix(path, module); ok {
		return compiler.ReadPackage(path, os.DirFS(filepath.Join(root, rel)))
	}
	return compiler.Registered(path)
}

// programs returns every kernel of a folder with all representative types and
// compile-time values.
func programs(t *testing.T, folder string) (list []*compiler.Program) {
	rel, err := filepath.Rel(root, folder)
	require.NoError(t, err)
	p, err := load(module + "/" + filepath.ToSlash(rel))
	require.NoError(t, err)
	// Mistakes are other tests' concern, some of which make them on purpose.
	front.Check(p, load, func(m *ir.Module) diag.List {
		list = append(list, &compiler.Program{Kernel: m.Name, Text: m.Text(), Positions: m.Pos})
		return nil
	})
	return list
}

// TestKernels makes one object of all kernels of this repository for each
// architecture.
func TestKernels(t *testing.T) {
	var all []*compiler.Program
	for _, folder := range kernelFolders(t) {
		all = append(all, programs(t, folder)...)
	}
	require.Greater(t, len(all), 100)
	for _, arch := range []string{"gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201", "sm_70", "sm_90"} {
		t.Run(arch, func(t *testing.T) {
			tgt, err := target.Parse("llvm:" + arch)
			require.NoError(t, err)
			tools, err := llvm.FindTools(tgt)
			if err != nil {
				require.NotEqual(t, "1", os.Getenv("KILN_REQUIRE_TOOLS"), "KILN_REQUIRE_TOOLS=1: %v", err)
				t.Skip(err)
			}
			variants := []compiler.Options{{Assume: compiler.Small | compiler.Aligned | compiler.Disjoint}, {Checked: true}}
			if arch != "gfx942" && arch != "sm_90" {
				variants = variants[:1] // the rest differs by little, and takes a while
			}
			var text texts
			n := 0
			for _, p := range all {
				for _, opt := range variants {
					m, err := p.Optimize(tgt, opt)
					require.NoError(t, err, p.Kernel)
					pass.LowerLog(m, true)
					m.Kernel().Name = fmt.Sprintf("kernel%d", n)
					n++
					one, err := llvm.Options{Aligned: opt.Assume != 0, Disjoint: opt.Assume != 0}.Emit(m, tgt)
					require.NoError(t, err, p.Kernel)
					text.add(one)
				}
			}
			object, err := tools.Build(context.Background(), text.String(), tgt)
			require.NoError(t, err)
			if tgt.CC != 0 {
				require.Equal(t, n, strings.Count(string(object), ".visible .entry kernel"))
				assemble(t, arch, object)
				return
			}
			for i := range n {
				assert.Contains(t, string(object), fmt.Sprintf("\x00kernel%d.kd\x00", i))
			}
		})
	}
}

// texts is one module of several: what all have stays once.
type texts struct {
	strings.Builder
	seen map[string]bool
}

func (b *texts) add(text string) {
	if b.seen == nil {
		b.seen = map[string]bool{}
	}
	for line := range strings.Lines(text) {
		common := strings.HasPrefix(line, "declare ") || strings.HasPrefix(line, "attributes ") || strings.HasPrefix(line, "!") || strings.HasPrefix(line, "target ")
		if !common || !b.seen[line] {
			b.WriteString(line)
		}
		b.seen[line] = common
	}
}

// assemble gives PTX to the vendor's assembler where there is one.
func assemble(t *testing.T, arch string, text []byte) {
	path := tooltest.Find(t, "KILN_PTXAS", "ptxas")
	if arch == "sm_70" {
		arch = "sm_75" // the oldest that CUDA 13 knows; it takes PTX for older ones
	}
	in := filepath.Join(t.TempDir(), "k.ptx")
	require.NoError(t, os.WriteFile(in, text, 0o600))
	msg, err := exec.Command(path, "-O1", "-arch="+arch, "-o", in+".cubin", in).CombinedOutput()
	require.NoError(t, err, "%s", msg)
}
