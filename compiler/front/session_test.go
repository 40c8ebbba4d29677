package front

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/front/internal/source"
)

// alone compiles without what other compilations left behind.
func alone(t *testing.T, req Request, load Loader) string {
	t.Helper()
	b := newBuild(load)
	u, err := b.unit(req.Pkg)
	require.NoError(t, err)
	m, err := b.compile(u, u.Kernel(req.Func), req)
	require.NoError(t, err)
	return m.String()
}

// functors is a package whose kernel is specialised by types with a method.
func functors(n int) string {
	var b strings.Builder
	b.WriteString("package k\n\nimport \"github.com/gokiln/kiln/dsl\"\n\ntype op[T dsl.Real] interface{ Apply(x T) T }\n\n" +
		"//kiln:kernel\nfunc Map[T dsl.Real, O op[T]](t dsl.Thread, x []T, f O, n dsl.ConstInt) {\n" +
		"\tfor i := range n {\n\t\tx[i] = f.Apply(x[i]) + pair[T]{1, T(n)}.b\n\t}\n}\n\ntype pair[T dsl.Real] struct{ a, b T }\n")
	for i := range n {
		fmt.Fprintf(&b, "\ntype op%d[T dsl.Real] struct{}\n\nfunc (op%[1]d[T]) Apply(x T) T { return dsl.%s(x) + %[1]d }\n", i, []string{"Exp", "Log", "Sqrt"}[i%3])
	}
	return b.String()
}

func functorRequests(n int) (list []Request) {
	for i := range n {
		for _, t := range []string{"float32", "float64"} {
			for c := range int64(2) {
				list = append(list, Request{
					Pkg: "example.com/functors", Func: "Map",
					Sig:    fmt.Sprintf("func(dsl.Thread, []%[1]s, k.op%[2]d[%[1]s], dsl.ConstInt)", t, i),
					Consts: map[string]int64{"n": c + 2},
				})
			}
		}
	}
	return list
}

// A request that is served from an earlier compilation gives the same module,
// positions included, as one that is compiled on its own.
func TestReuse(t *testing.T) {
	load := one("example.com/functors", functors(9))
	for _, req := range functorRequests(9) {
		m, err := Build(req, load)
		require.NoError(t, err)
		require.Equal(t, alone(t, req, load), m.String(), req.Sig)
	}
	p, err := load("example.com/functors")
	require.NoError(t, err)
	ws := sessionsOf(source.Parse(p))
	require.False(t, ws.fixed)
	require.GreaterOrEqual(t, len(ws.large.fns), 2, "the large session serves requests")
	require.LessOrEqual(t, len(ws.small)+ws.large.requests, 18, "no types are compiled on their own twice")
}

func TestReuseCases(t *testing.T) {
	p, err := registered(casesPath)
	require.NoError(t, err)
	for range 2 {
		for _, name := range Kernels(p) {
			for _, arg := range append(goldens[name], "") {
				req := Request{Pkg: casesPath, Func: name, Fill: FillLarge}
				if arg != "" {
					req.TypeArgs = []string{arg}
				} else if goldens[name] != nil {
					continue
				}
				m, err := Build(req, registered)
				require.NoError(t, err)
				require.Equal(t, alone(t, req, registered), m.String(), name)
			}
		}
	}
	require.False(t, sessionsOf(source.Parse(p)).fixed)
}

// A session is not used when a package that it was made of has another text.
func TestReuseOfChangedImport(t *testing.T) {
	const k = "package k\n\nimport (\n\t\"example.com/helper\"\n\t\"github.com/gokiln/kiln/dsl\"\n)\n\n" +
		"//kiln:kernel\nfunc K(t dsl.Thread, x []float32) { x[0] = helper.F(x[0]) }\n"
	for _, factor := range []string{"2", "3"} {
		load := packages(map[string]string{
			"example.com/importer": k,
			"example.com/helper":   "package helper\n\nfunc F(x float32) float32 { return x * " + factor + " }\n",
		})
		m, err := Build(Request{Pkg: "example.com/importer", Func: "K"}, load)
		require.NoError(t, err)
		require.Contains(t, m.String(), "const "+factor+".0 : f32")
	}
}

// Mistakes are reported as they are without earlier compilations, and do not
// harm later ones.
func TestReuseAndMistakes(t *testing.T) {
	load := one("example.com/functors", functors(4)+"\n//kiln:kernel\nfunc Bad(t dsl.Thread, x []float32) { x[0] = missing }\n")
	good := functorRequests(4)
	for i, req := range good {
		_, err := Build(req, load)
		require.NoError(t, err)
		_, err = Build(Request{Pkg: req.Pkg, Func: "Bad"}, load)
		require.ErrorContains(t, err, "undefined: missing")
		bad := req
		bad.Sig = strings.Replace(req.Sig, "k.op", "k.pair[float32], k.op", 1)
		_, err = Build(bad, load)
		require.ErrorContains(t, err, "Map cannot be instantiated", i)
		bad = req
		bad.Consts = map[string]int64{"m": 1}
		_, err = Build(bad, load)
		require.ErrorContains(t, err, "no compile-time parameter m")
	}
}

// Where a mistake keeps a package from a large session, it keeps few small ones.
func TestFewWorlds(t *testing.T) {
	load := one("example.com/functors", functors(maxSmall+3)+"\n//kiln:kernel\nfunc Bad(t dsl.Thread, x []float32) { x[0] = few }\n")
	build := func(i int) {
		t.Helper()
		_, err := Build(functorRequests(maxSmall + 3)[4*i], load)
		require.NoError(t, err)
	}
	build(0)
	_, err := Build(Request{Pkg: "example.com/functors", Func: "Bad"}, load)
	require.ErrorContains(t, err, "undefined: few")
	ws := sessionsOf(source.Parse(must(load("example.com/functors"))))
	require.True(t, ws.fixed)
	for i := range maxSmall + 2 {
		build(i + 1)
	}
	require.Len(t, ws.small, maxSmall)
	last := ws.small[maxSmall-1]
	build(maxSmall + 2)
	require.Same(t, last, ws.small[maxSmall-1], "the last one serves the same types again")
}

func TestReuseByManyGoroutines(t *testing.T) {
	load := one("example.com/functors", functors(6)+"\n// a text of its own\n")
	reqs := functorRequests(6)
	want := make([]string, len(reqs))
	for i, req := range reqs {
		want[i] = alone(t, req, load)
	}
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for k := range reqs {
				i := (k*(2*g+1) + g) % len(reqs)
				m, err := Build(reqs[i], load)
				if err != nil || m.String() != want[i] {
					t.Errorf("%s: %v", reqs[i].Sig, err)
				}
			}
		})
	}
	group.Wait()
}
