package jit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/target"
)

// dumper is a resolver of Scale that writes pages to dir.
func (g *rig) dumper(dir, want, source string) *resolver {
	g.env["KILN_DUMP"], g.env["KILN_DUMP_DIR"] = want, dir
	s, err := readSettings(func(name string) string { return g.env[name] }, &g.log)
	require.NoError(g.t, err)
	tgt, err := target.Parse(g.target)
	require.NoError(g.t, err)
	return &resolver{settings: s, req: front.Request{Pkg: "k", Func: "Scale"}, name: "k.Scale", dev: &g.dev, tgt: tgt,
		load: func(path string) (*front.Package, error) {
			return &front.Package{Path: path, Files: []front.File{{Name: "k.go", Text: []byte(source)}}}, nil
		}}
}

func TestDumpPage(t *testing.T) {
	g := newRig(t)
	dir := t.TempDir()
	g.dumper(dir, "Other", scaleSource).dumpPage("k.Scale")
	assert.Empty(t, g.log.String(), "not asked for")

	g.dumper(dir, "Scale", scaleSource).dumpPage("k.Scale")
	file := filepath.Join(dir, "k.Scale.ptx-sm_90.html")
	assert.Contains(t, g.log.String(), "msg=dumped kernel=k.Scale page="+file)
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(page), "x[i] *= ")
	assert.Contains(t, string(page), "used 24 registers", "the log of the driver's compiler")

	g.target, g.dev.key, g.dev.calls = "cpu", "", 0
	g.dumper(dir, "*", scaleSource).dumpPage("k.Scale")
	assert.FileExists(t, filepath.Join(dir, "k.Scale.cpu.html"))
	assert.Zero(t, g.dev.calls)

	g.dumper(dir, "*", "package k").dumpPage("k.Scale")
	assert.Contains(t, g.log.String(), `msg="kernel not dumped" kernel=k.Scale err=`)
	g.dumper(file, "*", scaleSource).dumpPage("k.Scale")
	assert.Contains(t, g.log.String(), "writing page of k.Scale")
}
