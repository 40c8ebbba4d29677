package dump_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/dump"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/pass"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/tooltest"
)

const source = `package k

import "github.com/gokiln/kiln/dsl"

// Reverse reverses x block by block & prints "<nothing>".
//
//kiln:kernel
func Reverse(t dsl.Thread, x []float32) {
	tile := dsl.Shared[[64]float32](t)
	i := t.Global()
	if i < len(x) {
		tile[t.ThreadX()%64] = x[i]
	}
	t.Sync()
	if i < len(x) {
		x[i] = twice(tile[63-t.ThreadX()%64])
	}
}

const two = 2 // not reached by an operation

func unused() {}

func twice(v float32) float32 { return two * v }

//kiln:kernel
func Product(t dsl.Thread, out []float32) {
	a, b, c := dsl.LocalSlice[dsl.BF16](8), dsl.LocalSlice[dsl.BF16](4), dsl.LocalSlice[float32](4)
	dsl.MMA(t, a, 0, b, 0, c, 0)
	out[t.ThreadX()] = c[0]
}

//kiln:kernel
func Group(t dsl.Thread, out []float32) {
	c, s := dsl.LocalSlice[float32](4), dsl.SharedSlice[int8](t, 16384)
	d := dsl.LocalSlice[int32](4)
	dsl.WarpgroupMMA(t, s, 0, s, 8192, d, 0, 8, 64, false, false, true)
	dsl.WarpgroupCommit()
	dsl.WarpgroupWait(t, 0)
	out[t.ThreadX()] = c[0] + float32(d[0])
}

//kiln:kernel
func Parted(t dsl.Thread, x []float32) {
	if t.ThreadX() < 3 {
		t.Sync()
	}
}
`

func load(path string) (*front.Package, error) {
	if path == "example.com/k" {
		return &front.Package{Path: path, Files: []front.File{{Name: "k.go", Text: []byte(source)}}}, nil
	}
	return nil, fmt.Errorf("no package %s", path)
}

// log is what ptxas 13.0 said of a kernel.
const log = `ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'Reverse' for 'sm_90'
ptxas info    : Function properties for Reverse
    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 16 bytes cumulative stack size, 256 bytes smem
`

func collect(t *testing.T, fn, tgt string, assemble func(*compiler.Artifact) (string, error)) *dump.Page {
	t.Helper()
	p, err := dump.Collect(dump.Input{
		Request: front.Request{Pkg: "example.com/k", Func: fn}, Load: load, Target: parse(tgt), Assemble: assemble,
	})
	require.NoError(t, err)
	return p
}

func parse(name string) target.Target {
	t, err := target.Parse(name)
	if err != nil {
		panic(err)
	}
	return t
}

func vendor(*compiler.Artifact) (string, error) { return log, nil }

func titles(p *dump.Page) []string {
	var out []string
	for _, c := range p.Columns {
		out = append(out, c.Title)
	}
	return out
}

// The cells are those of the figures of the PTX ISA, "Matrix Fragments for mma.m16n8k16".
func TestLayouts(t *testing.T) {
	p := collect(t, "Product", "ptx:sm_80", vendor)
	require.Empty(t, p.Problem)
	require.Len(t, p.Layouts, 3)
	a, b, sums := p.Layouts[0], p.Layouts[1], p.Layouts[2]
	assert.Equal(t, "A of m16n8k16.f32.bf16.bf16.f32, 16×16", a.Title)
	assert.Equal(t, []string{"0.0", "0.2", "0.4", "31.7"}, []string{a.Cells[0][0], a.Cells[8][0], a.Cells[0][8], a.Cells[15][15]})
	assert.Equal(t, []string{"0.0", "0.1", "4.0", "31.3"}, []string{b.Cells[0][0], b.Cells[1][0], b.Cells[0][1], b.Cells[15][7]})
	assert.Equal(t, []string{"0.0", "0.1", "1.0", "0.2"}, []string{sums.Cells[0][0], sums.Cells[0][1], sums.Cells[0][2], sums.Cells[8][0]})
	var page bytes.Buffer
	require.NoError(t, p.WriteHTML(&page))
	require.Contains(t, page.String(), "<summary>sums of m16n8k16.f32.bf16.bf16.f32, 16×8</summary>")
	require.Contains(t, page.String(), "<tr><th>8</th><td>0.2</td><td>0.3</td>")

	p = collect(t, "Group", "ptx:sm_90a", vendor)
	require.Empty(t, p.Problem)
	require.Len(t, p.Layouts, 4)
	assert.Equal(t, "A of m16n8k32.s32.s8.s8.s32, 16×32", p.Layouts[0].Title)
	assert.Equal(t, []string{"3", "2", "1", "0", "7", "6", "5", "4"}, p.Layouts[3].Cells[3])
	assert.Empty(t, collect(t, "Reverse", "ptx:sm_90", vendor).Layouts)
}

func TestCollect(t *testing.T) {
	p := collect(t, "Reverse", "ptx:sm_90", vendor)
	assert.Equal(t, "example.com/k.Reverse", p.Kernel)
	assert.Empty(t, p.Problem)
	assert.Equal(t, dump.Resources{Known: true, Registers: 40, SpillStores: 8, SpillLoads: 4, Local: 16, Shared: 256}, p.Resources)
	assert.Equal(t, log, p.Log)

	names := titles(p)
	require.GreaterOrEqual(t, len(names), 4, "%q", names)
	assert.Equal(t, []string{"front end", "inline", "release"}, names[:3])
	assert.Equal(t, "ptx:sm_90", names[len(names)-1])
	front, inline := p.Columns[0], p.Columns[1]
	assert.True(t, front.Open)
	assert.False(t, inline.Open)
	assert.True(t, p.Columns[len(p.Columns)-2].Open, "the last state of the IR")
	assert.NotEmpty(t, inline.Note)

	// The call goes with inlining, and the body arrives.
	assert.Equal(t, dump.Removed, find(t, front, "call @k.twice").Mark&dump.Removed)
	mul := find(t, inline, " = mul")
	assert.Equal(t, dump.Added, mul.Mark&dump.Added)
	assert.Equal(t, "example.com/k/k.go", mul.Pos.File)
	assert.Equal(t, dump.Removed, find(t, inline, "bounds").Mark&dump.Removed, "the next column is without checks")

	// A value that no pass touches keeps its number.
	load := find(t, front, " = load")
	id := load.Tokens[0]
	last := p.Columns[len(p.Columns)-2]
	kept := false
	for _, l := range last.Lines {
		kept = kept || len(l.Tokens) > 0 && l.Tokens[0] == id && strings.Contains(lineText(l), "load")
	}
	assert.True(t, kept, "%s of %q", id.Text, lineText(load))
}

func find(t *testing.T, c *dump.Column, part string) dump.Line {
	t.Helper()
	for _, l := range c.Lines {
		if strings.Contains(lineText(l), part) {
			return l
		}
	}
	t.Fatalf("column %s has no line with %q", c.Title, part)
	return dump.Line{}
}

func lineText(l dump.Line) string {
	var b strings.Builder
	for _, t := range l.Tokens {
		b.WriteString(t.Text)
	}
	return b.String()
}

// The page of a target with vectors shows what their passes make, too.
func TestVectorPasses(t *testing.T) {
	p := collect(t, "Reverse", "amd64:avx2", nil)
	i := slices.IndexFunc(p.Columns, func(c *dump.Column) bool { return c.Title == "peel" })
	require.Positive(t, i, titles(p))
	assert.Equal(t, pass.Named("peel").Doc, p.Columns[i].Note)
	assert.Contains(t, p.Columns[i].Same, "lcssa")
}

func TestSources(t *testing.T) {
	p := collect(t, "Reverse", "cpu", nil)
	require.Len(t, p.Sources, 1)
	s := p.Sources[0]
	assert.Equal(t, "example.com/k/k.go", s.File)
	require.Len(t, s.Parts, 2, "Reverse and twice; the constant, unused and Parted are not reached")
	first := s.Parts[0]
	assert.Equal(t, 5, first[0].N, "begins with the comment")
	assert.False(t, first[0].Reached)
	assert.True(t, first[5].Reached)
	assert.Contains(t, s.Parts[1][0].Tokens, dump.GoToken{Text: "func", Class: "kw"})
	assert.Contains(t, first[0].Tokens, dump.GoToken{Text: "// Reverse reverses x block by block & prints \"<nothing>\".", Class: "com"})
	assert.NotContains(t, titles(p), "cpu", "the CPU runs the IR")
	assert.Equal(t, 256, p.Resources.Shared, "known without a compiler")
	assert.False(t, p.Resources.Known)
}

func TestProblems(t *testing.T) {
	p := collect(t, "Parted", "ptx:sm_90", vendor)
	assert.Contains(t, p.Problem, "K0301")
	assert.NotContains(t, titles(p), "ptx:sm_90")

	p = collect(t, "Reverse", "ptx:sm_90", func(*compiler.Artifact) (string, error) { return "line 1: bad", errors.New("refused") })
	assert.Equal(t, "refused", p.Problem)
	assert.Equal(t, "line 1: bad", p.Log)

	_, err := dump.Collect(dump.Input{Request: front.Request{Pkg: "example.com/k", Func: "Missing"}, Load: load, Target: target.CPU})
	assert.ErrorContains(t, err, "dumping example.com/k.Missing")
}

// TestHTML checks the structure of the page, not its looks.
func TestHTML(t *testing.T) {
	var b bytes.Buffer
	p := collect(t, "Reverse", "ptx:sm_90", vendor)
	p.Problem = "x < y"
	require.NoError(t, p.WriteHTML(&b))
	page := b.String()
	for _, want := range []string{
		"<title>example.com/k.Reverse for ptx:sm_90</title>",
		"registers <b>40</b>", `<span class="warn">spills <b>8 B stored, 4 B loaded</b>`, "shared memory of a block <b>256 B</b>",
		"<tr><td>256</td><td>6</td><td>48 of 64</td><td>75 %</td><td>registers</td></tr>",
		`<section class="source" data-open>`, `<section class="folded">` + "\n<h2>inline<small>+",
		`<span class="kw">func</span> Reverse(`, "block by block &amp; prints &#34;&lt;nothing&gt;&#34;",
		`<div class="problem">x &lt; y</div>`, "ptxas info    : Used 40 registers", "@media print", "</html>",
	} {
		assert.Contains(t, page, want)
	}
	assert.NotRegexp(t, `(?i)src=|href=|@import|url\(`, page, "needs no other file")
	for _, tag := range []string{"section", "div", "span", "details", "header", "main", "table", "h2"} {
		assert.Equal(t, strings.Count(page, "</"+tag+">"), len(regexp.MustCompile("<"+tag+"[ >]").FindAllString(page, -1)), tag)
	}
	// Every line of a column that names a position names one of the Go column's.
	lines := map[string]bool{}
	for _, m := range regexp.MustCompile(`data-l="(\d+)" data-n=`).FindAllStringSubmatch(page, -1) {
		lines[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`data-l="(\d+)" title=`).FindAllStringSubmatch(page, -1) {
		require.True(t, lines[m[1]], "place %s", m[1])
	}
	require.NotEmpty(t, lines)

	b.Reset()
	require.NoError(t, collect(t, "Reverse", "cpu", nil).WriteHTML(&b))
	assert.Contains(t, b.String(), "The CPU interprets the IR of the last column.")
	assert.NotContains(t, b.String(), "occupancy, estimated")

	b.Reset()
	require.NoError(t, collect(t, "Reverse", "ptx:sm_80", nil).WriteHTML(&b))
	assert.Contains(t, b.String(), "registers and spills unknown")
	assert.Error(t, p.WriteHTML(failing{}))
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestSelection(t *testing.T) {
	env := map[string]string{"KILN_DUMP": "Scale, k.Sum[float32],example.com/a/b.Max,", "KILN_DUMP_DIR": "d"}
	s := dump.FromEnv(func(name string) string { return env[name] })
	assert.Equal(t, "d", s.Dir)
	for kernel, want := range map[string]bool{
		"example.com/x.Scale": true, "example.com/x.Scale[float64]": true, "example.com/x.Scaled": false,
		"example.com/k.Sum[float32]": true, "example.com/k.Sum[float64]": false, "example.com/k.Sum": false,
		"example.com/a/b.Max[example.com/x.T]": true, "example.com/c/b.Max": false,
		"gopkg.in/x.v1.Scale": true, "example.com/x.Scale{n:2}": true, "example.com/k.Sum[float32]{n:2}": true, "example.com/k.Sum{n:2}": false,
	} {
		assert.Equal(t, want, s.Wants(kernel), kernel)
	}
	assert.True(t, dump.Selection{Names: []string{"*"}}.Wants("a.B"))
	assert.False(t, dump.FromEnv(func(string) string { return "" }).Wants("a.B"))
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pages")
	s := dump.Selection{Dir: dir}
	p := &dump.Page{Kernel: "example.com/k.Scale[float32,dsl.F16]", Target: parse("ptx:sm_90")}
	q := &dump.Page{Kernel: "example.com/other/k.Scale[float32,dsl.F16]", Target: p.Target}
	for i, want := range []string{"k.Scale-float32-dsl.F16.ptx-sm_90.html", "k.Scale-float32-dsl.F16.ptx-sm_90-2.html", "k.Scale-float32-dsl.F16.ptx-sm_90.html"} {
		file, err := s.Write([]*dump.Page{p, q, p}[i])
		require.NoError(t, err)
		assert.Equal(t, filepath.Join(dir, want), file)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, string(text), []*dump.Page{p, q, p}[i].Kernel)
	}
	p.Kernel = "example.com/k.Blur[float32]{radius:2,cfg.Around:true}"
	assert.Equal(t, "k.Blur-float32-radius-2-cfg.Around-true.ptx-sm_90.html", dump.FileName(p))
	p.Kernel, p.Target = "example.com/k.Scale", target.CPU
	assert.Equal(t, "k.Scale.cpu.html", dump.FileName(p))
	var names []string
	for i := range 2 { // more compile-time values than fit in the name of a file
		p.Kernel = fmt.Sprintf("example.com/k.Scale{%sn:%d}", strings.Repeat("w.Value:1,", 50), i)
		file, err := s.Write(p)
		require.NoError(t, err)
		names = append(names, file)
	}
	assert.NotEqual(t, names[0], names[1])
	blocked := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(blocked, nil, 0o644))
	_, err := dump.Selection{Dir: blocked}.Write(p)
	assert.ErrorContains(t, err, "writing page of example.com/k.Scale")
}

// The rows are those of NVIDIA's occupancy calculator.
func TestOccupancies(t *testing.T) {
	cases := []struct {
		target            string
		registers, shared int
		threads           int
		blocks, percent   int
		limit             string
	}{
		{"ptx:sm_90", 32, 0, 256, 8, 100, "threads"},
		{"ptx:sm_90", 40, 0, 256, 6, 75, "registers"},
		{"ptx:sm_90", 255, 0, 256, 1, 13, "registers"},
		{"ptx:sm_90", 255, 0, 1024, 0, 0, "registers"},
		{"ptx:sm_90", 16, 48 << 10, 128, 4, 25, "shared memory"},
		{"ptx:sm_86", 32, 0, 64, 16, 67, "blocks"},
		{"ptx:sm_75", 32, 32 << 10, 512, 2, 100, "threads"},
	}
	for _, c := range cases {
		list := dump.Occupancies(parse(c.target), dump.Resources{Known: true, Registers: c.registers, Shared: c.shared})
		require.Len(t, list, 5)
		for _, o := range list {
			if o.Threads == c.threads {
				assert.Equal(t, []any{c.blocks, c.percent, c.limit}, []any{o.Blocks, o.Percent(), o.Limit}, "%+v", c)
			}
		}
	}
	assert.Empty(t, dump.Occupancies(target.CPU, dump.Resources{Known: true}))
	assert.Empty(t, dump.Occupancies(parse("ptx:sm_90"), dump.Resources{}))
}

func TestPTXAS(t *testing.T) {
	assert.Nil(t, dump.PTXAS(target.CPU))
	t.Run("stand-in", func(t *testing.T) {
		dir := t.TempDir()
		tool := filepath.Join(dir, "ptxas")
		script := "#!/bin/sh\necho \"Used 7 registers\"\ncase \"$*\" in *sm_90*) exit 0;; esac\nexit 3\n"
		tooltest.WriteProgram(t, tool, []byte(script))
		t.Setenv("KILN_PTXAS", tool)
		art := &compiler.Artifact{Code: []byte("x")}
		run := dump.PTXAS(parse("ptx:sm_90"))
		if run == nil {
			t.Skip("needs a system that runs shell scripts")
		}
		out, err := run(art)
		require.NoError(t, err)
		assert.Equal(t, 7, dump.ParseLog(out).Registers)
		_, err = dump.PTXAS(parse("ptx:sm_80"))(art)
		assert.ErrorContains(t, err, "ptxas on the code of")
		t.Setenv("KILN_PTXAS", filepath.Join(dir, "none"))
		assert.Nil(t, dump.PTXAS(parse("ptx:sm_90")))
	})
	t.Run("real", func(t *testing.T) {
		run := dump.PTXAS(parse("ptx:sm_90"))
		if run == nil {
			tooltest.Find(t, "KILN_PTXAS", "ptxas") // skips, or fails where it must not be missing
			t.Fatal("ptxas is there, and was not found")
		}
		p := collect(t, "Reverse", "ptx:sm_90", run)
		assert.Empty(t, p.Problem)
		assert.Positive(t, p.Resources.Registers)
		assert.Equal(t, 256, p.Resources.Shared)
	})
}
