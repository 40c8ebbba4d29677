package hip_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/hip"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/pass"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
)

const (
	module  = "github.com/gokiln/kiln"
	root    = "../.."
	bitcode = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode" // of Debian's rocm-device-libs

	libraries = "--rocm-device-lib-path=" + bitcode
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

// programs returns every kernel of this repository with all representative types and
// compile-time values.
func programs(t *testing.T) (list []*compiler.Program) {
	for _, folder := range kernelFolders(t) {
		rel, err := filepath.Rel(root, folder)
		require.NoError(t, err)
		p, err := load(module + "/" + filepath.ToSlash(rel))
		require.NoError(t, err)
		// Mistakes are other tests' concern, some of which make them on purpose.
		front.Check(p, load, func(m *ir.Module) diag.List {
			list = append(list, &compiler.Program{Kernel: m.Name, Text: m.Text(), Positions: m.Pos})
			return nil
		})
	}
	require.Greater(t, len(list), 100)
	return list
}

// together writes all kernels for a target as one text.
func together(t *testing.T, all []*compiler.Program, tgt target.Target, opt compiler.Options) string {
	var modules []*ir.Module
	for i, p := range all {
		m, err := p.Optimize(tgt, opt)
		require.NoError(t, err, p.Kernel)
		pass.LowerLog(m, true)
		m.Kernel().Name = fmt.Sprintf("kernel%d", i)
		modules = append(modules, m)
	}
	text, err := hip.Language.EmitAll(modules, tgt, cfamily.Options{Disjoint: opt.Assume&compiler.Disjoint != 0})
	require.NoError(t, err)
	return text
}

// TestKernels compiles all kernels of this repository to assembly, without any of
// ROCm, and for gfx90a with its device libraries and the compiler of the ROCm that
// Debian has. Warnings are errors. Checked builds, which are long, are read only.
func TestKernels(t *testing.T) {
	all := programs(t)
	fast := compiler.Options{Assume: compiler.Small | compiler.Aligned | compiler.Disjoint}
	plain := []string{"-nogpulib", "-nogpuinc", "-S"}
	for _, c := range []struct {
		arch, env, clang string
		opt              compiler.Options
		flags            []string
	}{
		{"gfx942", "KILN_CLANG", "clang-19", fast, plain},
		{"gfx942", "KILN_CLANG", "clang-19", compiler.Options{Checked: true}, []string{"-nogpulib", "-nogpuinc", "-fsyntax-only"}},
		{"gfx1100", "KILN_CLANG", "clang-19", fast, plain},
		{"gfx1201", "KILN_CLANG", "clang-19", fast, plain},
		{"gfx90a", "KILN_CLANG15", "clang-15", fast, []string{"--rocm-path=/usr", libraries, "-S"}},
	} {
		t.Run(fmt.Sprintf("%s checked=%t", c.arch, c.opt.Checked), func(t *testing.T) {
			clang := tooltest.Find(t, c.env, c.clang)
			if _, err := os.Stat(bitcode); err != nil && slices.Contains(c.flags, libraries) && os.Getenv("KILN_REQUIRE_TOOLS") != "1" {
				t.Skipf("needs AMD's device libraries (Debian: rocm-device-libs): %v", err)
			}
			tgt, err := target.Parse("hip:" + c.arch)
			require.NoError(t, err)
			file := filepath.Join(t.TempDir(), "all.hip")
			require.NoError(t, os.WriteFile(file, []byte(together(t, all, tgt, c.opt)), 0o600))
			args := append([]string{"-x", "hip", "--offload-arch=" + c.arch, "--cuda-device-only", "-O1", "-Wall", "-Werror", "-o", file + ".s", file}, c.flags...)
			out, err := exec.Command(clang, args...).CombinedOutput()
			require.NoError(t, err, "%.4000s", out)
			if c.opt.Checked {
				return
			}
			text, err := os.ReadFile(file + ".s")
			require.NoError(t, err)
			require.Equal(t, len(all), strings.Count(string(text), "\t.amdhsa_kernel kernel"))
		})
	}
}
