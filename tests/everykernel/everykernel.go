package everykernel

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/pass"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
)

const module = "github.com/gokiln/kiln"

// Builds that kernels are compiled as: what ordinary launches use, and checked code.
var (
	Fast    = compiler.Options{Assume: compiler.Small | compiler.Aligned | compiler.Disjoint}
	Checked = compiler.Options{Checked: true}
)

// Programs returns kernels of this repository, with representative types and compile-time
// values. KILN_EVERY_INSTANCE asks for all of them. With KILN_SWEEP=all it leaves out most
// instances of the kernels of the tensor operations, with KILN_SWEEP=each all but one and those
// that cover chooses, and otherwise all that have nothing but what others have, too.
func Programs(t testing.TB) []*compiler.Program {
	t.Helper()
	root := findRoot(t)
	src := readSources(t, root)
	list := shared(t, src, func() (list []*compiler.Program, chosen map[*compiler.Program]bool) {
		if list = programs(t, root, src.folders); !All() {
			list = thin(list, mostOf)
		}
		return list, cover(t, list)
	})
	require.Greater(t, len(list), 100, "kernels below %s", root)
	switch {
	case All() || tooltest.Whole():
		return list
	case tooltest.Sweeps():
		return either(list, thin(list, 1))
	}
	return either(list, nil)
}

// either is what is in a part of a list, or chosen by cover, or both, in its order.
func either(list, part []*compiler.Program) (out []*compiler.Program) {
	for _, p := range list {
		if covering(p) || slices.Contains(part, p) {
			out = append(out, p)
		}
	}
	return out
}

// oneTarget is in the IR of kernels that one compiler for GPUs spells and all others refuse: those with
// dsl.MBarrier, for which compiler/ptx has tests of its own.
const oneTarget = "  mbarrier."

// programs compiles the kernels in folders to IR.
func programs(t testing.TB, root string, folders []string) (list []*compiler.Program) {
	t.Helper()
	load := loader(root)
	for _, folder := range folders {
		rel, err := filepath.Rel(root, folder)
		require.NoError(t, err)
		p, err := load(module + "/" + filepath.ToSlash(rel))
		require.NoError(t, err)
		// Mistakes are other tests' concern, some of which make them on purpose.
		front.Check(p, load, func(m *ir.Module) diag.List {
			if text := m.Text(); !strings.Contains(text, oneTarget) {
				list = append(list, &compiler.Program{Kernel: m.Name, Text: text, Positions: m.Pos})
			}
			return nil
		})
	}
	return list
}

// loader reads packages of this module from their folders.
func loader(root string) front.Loader {
	return func(path string) (*front.Package, error) {
		if rel, ok := strings.CutPrefix(path, module); ok {
			return compiler.ReadPackage(path, os.DirFS(filepath.Join(root, rel)))
		}
		return compiler.Registered(path)
	}
}

// findRoot returns the folder of this module, which tests run in a folder of.
func findRoot(t testing.TB) string {
	start, err := os.Getwd()
	require.NoError(t, err)
	for dir := start; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module "+module+"\n") {
			return dir
		}
		require.NotEqual(t, dir, filepath.Dir(dir), "%s is not in the tree of %s, whose kernels are wanted", start, module)
	}
}

// families are kernels that have an instance for every element type.
var families = regexp.MustCompile("^" + module + "/((ops|nn|quantized)/|tests/conformance/kernels\\.(Tile|Attend))")

const mostOf = 3 // instances of each of their kernels, one with KILN_SWEEP=each

// thin leaves a few instances of each kernel of families, spread over its types and values, and
// not the same ones of every kernel: compilers take minutes for all. What they compute is tested
// for every type by ops/opstest and by the packages themselves.
func thin(list []*compiler.Program, most int) (out []*compiler.Program) {
	groups := map[string][]*compiler.Program{}
	var names []string
	for _, p := range list {
		if !families.MatchString(p.Kernel) {
			out = append(out, p)
			continue
		}
		name := base(p.Kernel)
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], p)
	}
	for i, name := range names {
		g := groups[name]
		n := min(len(g), most)
		for k := range n {
			out = append(out, g[(i+k*len(g)/n)%len(g)])
		}
	}
	return out
}

// base is the name of an instance without types and compile-time values.
func base(kernel string) string {
	name, _, _ := strings.Cut(strings.ReplaceAll(kernel, "{", "["), "[")
	return name
}

// Modules optimises kernels for a target, up to what an emitter takes. The kernel of
// program i is called kernel and the number.
func Modules(t testing.TB, all []*compiler.Program, tgt target.Target, opt compiler.Options) (list []*ir.Module) {
	t.Helper()
	for i, p := range all {
		m, err := p.Optimize(tgt, opt)
		require.NoError(t, err, p.Kernel)
		pass.LowerGrid(m, tgt.OwnFences()) // for all targets: what some lack is the launch
		pass.LowerLog(m, true)
		m.Kernel().Name = fmt.Sprintf("kernel%d", i)
		list = append(list, m)
	}
	return list
}

// Share returns what the i-th of n architectures and options takes of the kernels. With
// KILN_SWEEP=each it is those that have every feature between them, and an n-th of the others: all
// n together take all. With KILN_SWEEP=all it is every second one; otherwise each takes what
// Programs has chosen.
func Share(all []*compiler.Program, i, n int) []*compiler.Program {
	switch {
	case All() || !tooltest.Sweeps():
		return all
	case tooltest.Whole():
		return shareOf(all, i, 2, func(*compiler.Program) bool { return false })
	}
	return shareOf(all, i, n, covering)
}

// shareOf is the i-th of n shares of a list, and what is always in one.
func shareOf(all []*compiler.Program, i, n int, always func(*compiler.Program) bool) (list []*compiler.Program) {
	for k, p := range all {
		if k%n == i%n || always(p) {
			list = append(list, p)
		}
	}
	return list
}

// All reports whether KILN_EVERY_INSTANCE asks for every instance on every architecture,
// which takes more time than CI has.
func All() bool { return os.Getenv("KILN_EVERY_INSTANCE") != "" }

// Most leaves the architectures to a run of everything that differ least from others.
func Most(t testing.TB, arch string, least ...string) {
	if !All() && slices.Contains(least, arch) {
		t.Skipf("%s is like its neighbours; KILN_EVERY_INSTANCE=1 compiles for it too", arch)
	}
}
