package gen_test

import (
	"go/format"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/gen"
)

const head = "package k\n\nimport \"github.com/gokiln/kiln/dsl\"\n\n"

const scale = head + `// Scale multiplies.
//
//kiln:kernel
func Scale[T dsl.Real](t dsl.Thread, x []T, by T) { x[0] *= by }
`

// pkg is a package of files given as names and texts.
func pkg(files ...string) gen.Package {
	p := gen.Package{Package: &front.Package{Path: "example.com/k"}}
	for i := 0; i < len(files); i += 2 {
		p.All = append(p.All, front.File{Name: files[i], Text: []byte(files[i+1])})
	}
	p.Files = p.All
	return p
}

// generate returns the files by their names.
func generate(t *testing.T, p gen.Package) map[string]string {
	t.Helper()
	files, list := gen.Generate(p, nil)
	require.Empty(t, list)
	out := map[string]string{}
	for _, f := range files {
		out[f.Name] = string(f.Text)
		pretty, err := format.Source(f.Text)
		require.NoError(t, err)
		assert.Equal(t, string(pretty), string(f.Text))
		assert.True(t, strings.HasPrefix(string(f.Text), gen.Header+"\n//kiln:signatures "))
	}
	return out
}

func TestGenerate(t *testing.T) {
	text := generate(t, pkg("k.go", scale))[gen.Main]
	assert.Contains(t, text, `
var entryScale = jit.Entry{Pkg: "example.com/k", Name: "Scale", Generic: true}

// LaunchScale launches [Scale]: it multiplies.
//
//kiln:launches Scale
func LaunchScale[T dsl.Real](s *runtime.Stream, g runtime.Grid, x runtime.Slice[T], by T) error {
	return KernelScale[T]().Launch(s, g, x, by)
}
`)
	names, err := gen.Launchers([]byte(text))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"LaunchScale": "Scale", "PrepareScale": "Scale", "KernelScale": "Scale"}, names)
	_, err = gen.Launchers([]byte("package"))
	require.Error(t, err)
	assert.Empty(t, generate(t, pkg("k.go", head)))
}

// What is written depends on signatures and documentation, and on nothing else.
func TestStable(t *testing.T) {
	want := generate(t, pkg("k.go", scale))
	other := head + "//kiln:kernel\nfunc Other(t dsl.Thread, x []int32) {}\n"
	both := generate(t, pkg("k.go", scale, "b.go", other))
	for name, p := range map[string]gen.Package{
		"body":     pkg("k.go", strings.Replace(scale, "*= by", "+= by*2", 1)),
		"comment":  pkg("k.go", strings.Replace(scale, "{ x", "{ /* why */ x", 1)),
		"file":     pkg("other.go", scale),
		"position": pkg("k.go", strings.Replace(scale, "// Scale", "const unused = 1\n\n// Scale", 1)),
		"mark":     pkg("k.go", strings.Replace(scale, "//kiln:kernel", "//kiln:fastmath\n//kiln:instances T=float32\n//kiln:kernel", 1)),
		"itself":   pkg("k.go", scale, gen.Main, want[gen.Main]),
		"newlines": pkg("k.go", strings.ReplaceAll(scale, "\n", "\r\n")),
	} {
		assert.Equal(t, want, generate(t, p), name)
	}
	assert.Equal(t, both, generate(t, pkg("a.go", other, "z.go", scale)), "order of files")
	for name, text := range map[string]string{
		"doc":        strings.Replace(scale, "multiplies", "scales", 1),
		"name":       strings.Replace(scale, "x []T, by T) { x[0] *= by", "x []T, a T) { x[0] *= a", 1),
		"type":       strings.Replace(scale, "x []T, by T", "x []T, by float32", 1),
		"constraint": strings.Replace(scale, "dsl.Real", "dsl.Float", 1),
	} {
		assert.NotEqual(t, want, generate(t, pkg("k.go", text)), name)
	}
}

func TestConstraints(t *testing.T) {
	tagged := "//go:build !small && go1.20\n\n" + strings.ReplaceAll(scale, "Scale", "Tagged")
	linux := strings.ReplaceAll(scale, "Scale", "Linux")
	never := "//go:build windows\n\n" + strings.ReplaceAll(scale, "Scale", "Never")
	files := generate(t, pkg("k.go", scale, "t.go", tagged, "k_linux.go", linux, "n.go", never))
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	assert.Equal(t, []string{gen.Main, "zz_kernels_k_linux.go", "zz_kernels_t.go"}, names)
	assert.Contains(t, files["zz_kernels_t.go"], "\n\n//go:build !small && go1.20\n\npackage k\n")
	assert.NotContains(t, files[gen.Main], "Tagged")
}

// checks is what kiln check says of a package with launchers.
func checks(p gen.Package) (out []string) {
	for _, d := range gen.Check(p, nil) {
		out = append(out, string(d.Code)+" "+d.Pos.String()+": "+d.Msg)
	}
	return out
}

func TestCheck(t *testing.T) {
	file := generate(t, pkg("k.go", scale))[gen.Main]
	other := strings.ReplaceAll(scale, "Scale", "Other")
	const at = "K0011 example.com/k/zz_kernels.go: "
	cases := []struct {
		name string
		p    gen.Package
		want string
	}{
		{"fresh", pkg("k.go", scale, gen.Main, file), ""},
		{"body", pkg("k.go", strings.Replace(scale, "*= by", "+= undefined()", 1), gen.Main, file), ""},
		{"newlines", pkg("k.go", scale, gen.Main, strings.ReplaceAll(file, "\n", "\r\n")), ""},
		{"none", pkg("k.go", scale), ""},
		{"changed", pkg("k.go", strings.Replace(scale, "by T", "by ...T", 1), gen.Main, file), ""},
		{"signature", pkg("k.go", strings.Replace(scale, "x []T, by T", "x, by []T", 1), gen.Main, file), at + "the launchers are not those of the kernels: Scale changed"},
		{"doc", pkg("k.go", strings.Replace(scale, "multiplies", "scales", 1), gen.Main, file), at + "the launchers are not those of the kernels: Scale changed"},
		{"new and gone", pkg("k.go", other, gen.Main, file), at + "the launchers are not those of the kernels: Other new; Scale gone"},
		{"all gone", pkg("k.go", head, gen.Main, file), at + "the launchers of Scale have no kernels"},
		{"constrained", pkg("k.go", scale, "o.go", "//go:build !small\n\n"+other, gen.Main, file), at + "the launchers of Other are not written yet: kiln gen writes zz_kernels_o.go for them"},
		{"older", pkg("k.go", scale, gen.Main, strings.Replace(file, "error {", "error{", 1)), ""},
		{"another version", pkg("k.go", scale, gen.Main, regexp.MustCompile(`signatures \w+`).ReplaceAllString(file, "signatures 00")), at + "the launchers are not what this version of kiln gen writes"},
		{"damaged", pkg("k.go", scale, gen.Main, "package"), at + "the launchers are not those of the kernels: Scale new"},
		{"name", pkg("k.go", scale+"\nfunc LaunchScale() {}\n\nfunc PrepareScaleKernel() {}\n", gen.Main, file),
			"K0012 example.com/k/k.go:8:6: no names for the launchers of kernel Scale: one of LaunchScaleKernel, PrepareScaleKernel, KernelScaleKernel and entryScaleKernel is declared in the package"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, c.want, strings.Join(checks(c.p), "\n"))
		})
	}
}

// Files that are registered but not part of this build have launchers that are not part of
// it either.
func TestOtherBuilds(t *testing.T) {
	file := generate(t, pkg("k.go", scale))[gen.Main]
	p := pkg("k.go", scale, gen.Main, file)
	p.Package = &front.Package{Path: p.Path, Files: append(slices.Clip(p.Files), front.File{Name: "o.go", Text: []byte("//go:build !small\n\n" + strings.ReplaceAll(scale, "Scale", "Other"))})}
	assert.Contains(t, generate(t, p), "zz_kernels_o.go")
	assert.Empty(t, checks(p))
}

func TestMistakes(t *testing.T) {
	for text, code := range map[string]diag.Code{
		head + "//kiln:kernel\nfunc K(t dsl.Thread, x []Missing) {}\n":      diag.TypeError,
		head + "//kiln:kernel\nfunc K(x []int32) {}\n":                      diag.FirstParam,
		head + "//kiln:kernel\nfunc K(t dsl.Thread) int32 { }\n":            diag.HasResult,
		head + "type R int\n\n//kiln:kernel\nfunc (R) K(t dsl.Thread) {}\n": diag.KernelForm,
		"package": diag.Syntax,
	} {
		files, list := gen.Generate(pkg("k.go", text), nil)
		assert.Empty(t, files, text)
		require.NotEmpty(t, list, text)
		assert.Equal(t, code, list[0].Code, text)
	}
}
