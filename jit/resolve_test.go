package jit

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/internal/devlog"
	"github.com/gokiln/kiln/jit/artifact"
	"github.com/gokiln/kiln/jit/testkernels"
	"github.com/gokiln/kiln/runtime"
)

// linker stands in for a device whose driver makes machine code.
type linker struct {
	key   string
	err   error
	calls int
	last  []byte // code that it was given
}

func (l *linker) FinalKey() string { return l.key }

func (l *linker) Finalize(img runtime.Image) (runtime.Image, string, error) {
	l.calls++
	l.last = img.Code
	img.Format, img.Code = "cubin", []byte("machine code of "+img.Name)
	return img, "used 24 registers", l.err
}

const scaleSource = `package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func Scale(t dsl.Thread, x []float32) {
	if i := t.Global(); i < len(x) {
		x[i] *= 2
	}
}
`

// rig resolves Scale with a cache directory and a log of its own.
type rig struct {
	t      *testing.T
	env    map[string]string
	source string
	dev    linker
	target string
	consts map[string]int64
	log    strings.Builder
}

func newRig(t *testing.T) *rig {
	t.Setenv("KILN_CACHE_DIR", filepath.Join(t.TempDir(), "cache"))
	return &rig{t: t, env: map[string]string{"KILN_LOG": "debug"}, source: scaleSource, dev: linker{key: "sm_90 driver 1"}, target: "ptx:sm_90"}
}

func (g *rig) resolve() (*image, Event, error) {
	g.t.Helper()
	r := g.resolver(g.settings())
	im, err := r.resolve()
	return im, r.ev, err
}

func (g *rig) settings() *settings {
	g.t.Helper()
	s, err := readSettings(func(name string) string { return g.env[name] }, &g.log)
	require.NoError(g.t, err)
	return s
}

func (g *rig) resolver(s *settings) *resolver {
	g.t.Helper()
	tgt, err := target.Parse(g.target)
	require.NoError(g.t, err)
	req := front.Request{Pkg: "k", Func: "Scale", Consts: g.consts}
	return &resolver{settings: s, req: req, spec: artifact.Specialisation(req), name: "k.Scale", dev: &g.dev, tgt: tgt, load: g.load}
}

func (g *rig) load(path string) (*front.Package, error) {
	if path != "k" {
		return nil, errors.New("no such package")
	}
	return &front.Package{Path: path, Files: []front.File{{Name: "k.go", Text: []byte(g.source)}}}, nil
}

func (g *rig) must(source string, calls int) *image {
	g.t.Helper()
	im, ev, err := g.resolve()
	require.NoError(g.t, err)
	assert.Equal(g.t, source, ev.Source)
	assert.Equal(g.t, calls, g.dev.calls, "calls of the driver's compiler so far")
	return im
}

func TestLevels(t *testing.T) {
	g := newRig(t)
	im := g.must("compiled", 1)
	assert.Equal(t, "cubin", im.img.Format)
	assert.Equal(t, "machine code of Scale", string(im.img.Code))

	g.must("cache", 1)
	g.source = strings.Replace(scaleSource, "//kiln", "// Scale doubles.\n//\n//kiln", 1)
	g.must("cache", 1) // a comment runs the front end, nothing else
	g.dev.key = "sm_90 driver 2"
	g.must("cache", 2) // another driver links again
	g.source = strings.Replace(scaleSource, "*= 2", "*= 3", 1)
	g.must("compiled", 3)
	g.target = "ptx:sm_80"
	g.must("compiled", 4)
	g.target, g.dev.key = "cpu", ""
	im = g.must("compiled", 4)
	assert.Equal(t, compiler.FormatIR, im.img.Format)
	assert.Contains(t, string(im.img.Code), `"k/k.go"`, "positions are appended")
	g.must("cache", 4)
}

// What a kernel writes to the log is known of cached code too, and positions are those
// of the source as it is now.
func TestLogOfCachedCode(t *testing.T) {
	g := newRig(t)
	g.source = strings.Replace(scaleSource, "x[i] *= 2", "dsl.Assert(t, x[i] > 0, \"positive\")", 1)
	first := g.must("compiled", 1)
	require.NotNil(t, first.meta.Log)
	require.Equal(t, "positive", first.meta.Log.Sites[0].Text)
	require.Equal(t, first.meta.Log, g.must("cache", 1).meta.Log)

	r := &resolver{positions: []ir.Pos{{File: "k.go", Line: 8}}}
	l := &runtime.Log{Sites: []devlog.Site{{Pos: 1}, {Pos: 2}, {}}}
	placed := r.placed(l)
	require.Equal(t, []string{"k.go:8", "", ""}, []string{placed.Sites[0].Place, placed.Sites[1].Place, placed.Sites[2].Place})
	require.Empty(t, l.Sites[0].Place, "it is shared")
}

// The positions of a kernel that is found are read when something asks for them.
func TestPlacesAreAskedFor(t *testing.T) {
	g := newRig(t)
	g.must("compiled", 1)
	r := g.resolver(g.settings())
	_, err := r.resolve()
	require.NoError(t, err)
	require.NotEmpty(t, r.table)
	require.Nil(t, r.positions)
	places := r.places()
	require.Equal(t, "k.go", filepath.Base(places[0].File))
	require.Nil(t, r.table)
	require.Equal(t, places, r.places())

	g.log.Reset()
	r = g.resolver(g.settings())
	r.table = artifact.Table{7}
	require.Empty(t, r.places())
	require.Contains(t, g.log.String(), `msg="source entry without lines for messages" kernel=k.Scale err="damaged positions"`)
	g.log.Reset()
	require.Empty(t, r.places())
	require.Empty(t, g.log.String(), "said once")
}

// Checked code and code that is not never stand for each other, on any level.
func TestCheckedCode(t *testing.T) {
	g := newRig(t)
	plain := g.must("compiled", 1)
	require.Nil(t, plain.meta.Log)
	g.source = strings.Replace(scaleSource, "x[i] *= 2", "x[i+1] *= 2", 1)
	g.must("compiled", 2)
	g.env["KILN_CHECK"] = "1"
	checked := g.must("compiled", 3)
	require.NotNil(t, checked.meta.Log)
	require.Len(t, checked.meta.Log.Sites, 1)
	require.Equal(t, checked.meta.Log, g.must("cache", 3).meta.Log)
	g.env["KILN_CHECK"] = ""
	require.Nil(t, g.must("cache", 3).meta.Log)

	g.target, g.dev.key = "cpu", ""
	require.NotContains(t, string(g.must("compiled", 3).img.Code), "\nchecked\n")
	g.env["KILN_CHECK"] = "1"
	require.Contains(t, string(g.must("compiled", 3).img.Code), "\nchecked\n")
}

func TestModes(t *testing.T) {
	g := newRig(t)
	g.env["KILN_JIT"] = "readonly"
	_, _, err := g.resolve()
	require.ErrorIs(t, err, ErrNotPrebuilt)
	assert.ErrorContains(t, err, "k.Scale for ptx:sm_90")
	assert.ErrorContains(t, err, os.Getenv("KILN_CACHE_DIR"))

	g.env["KILN_JIT"] = "auto"
	g.must("compiled", 1)
	g.env["KILN_JIT"] = "readonly"
	g.must("cache", 1)
	g.dev.key = "another driver"
	im := g.must("cache", 1) // the driver compiles the text as it loads
	assert.Equal(t, compiler.FormatPTX, im.img.Format)
	g.target = "ptx:sm_80"
	_, _, err = g.resolve()
	require.ErrorIs(t, err, ErrNotPrebuilt)

	g.env["KILN_JIT"] = "off"
	g.target = "ptx:sm_90"
	g.must("compiled", 2)
}

// Entries that the store finds sound but whose content makes no sense are
// compiled again.
func TestForeignMeta(t *testing.T) {
	g := newRig(t)
	g.must("compiled", 1)
	store, err := cache.Open(cache.DefaultDir())
	require.NoError(t, err)
	for _, info := range store.List() {
		e, ok := store.Get(info.Key)
		require.True(t, ok)
		e.Meta = []byte(`{"args": 3, "ir": 4}`)
		require.NoError(t, store.Put(info.Key, e))
	}
	g.must("compiled", 2)
	g.must("cache", 2)
}

func TestLinkFails(t *testing.T) {
	g := newRig(t)
	g.dev.err = errors.New("ptxas: no")
	_, _, err := g.resolve()
	assert.ErrorContains(t, err, "k.Scale: ptxas: no")
}

func TestUnwritableCache(t *testing.T) {
	g := newRig(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	t.Setenv("KILN_CACHE_DIR", filepath.Join(file, "below"))
	g.must("compiled", 1)
	assert.Equal(t, 1, strings.Count(g.log.String(), "kernel cache not usable"), g.log.String())
}

func TestPlanMismatch(t *testing.T) {
	fn := reflect.TypeOf(func(dsl.Thread, []float32, int32) {})
	_, err := planArgs(nil, fn)
	assert.ErrorContains(t, err, "compiled kernel has 0 parameters")
	_, err = planArgs([]compiler.Arg{{Name: "x", Go: "[]float32", Slice: true, Size: 4}, {Name: "n", Go: "int64", Size: 8}}, fn)
	assert.ErrorContains(t, err, "parameter n is int64 in the compiled kernel, int32 in the function")
}

func TestSignature(t *testing.T) {
	type local int32
	for _, c := range []struct {
		fn         any
		sig, wrong string
	}{
		{fn: func(dsl.Thread, []float32, dsl.F16, []dsl.BF16, int) {}, sig: "func(dsl.Thread, []float32, dsl.F16, []dsl.BF16, int)"},
		{fn: func(dsl.Thread, [3]uint8, local) {}, sig: "func(dsl.Thread, [3]uint8, local)"},
		{fn: func(dsl.Thread, []testkernels.Tap) {}, sig: "func(dsl.Thread, []\"github.com/gokiln/kiln/jit/testkernels\".Tap)"},
		{fn: func(*float32, func(a, b dsl.F16) (bool, int)) {}, sig: "func(*float32, func(dsl.F16, dsl.F16) (bool, int))"},
		{fn: func(dsl.Thread, cache.Key) {}, wrong: "type Key of package github.com/gokiln/kiln/cache in the signature"},
		{fn: func(dsl.Thread, map[int]int) {}, wrong: "not one a kernel can have"},
	} {
		sig, err := signature(reflect.TypeOf(c.fn), "github.com/gokiln/kiln/jit")
		if c.wrong != "" {
			assert.ErrorContains(t, err, c.wrong)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, c.sig, sig)
	}
}
