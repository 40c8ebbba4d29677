package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// together compiles all mutants of a sample into the same programs of tests. A function with
// mutants begins with a copy of its body for each, and a variable of the environment says which
// copy runs. So the tests of a package are compiled and linked once for all mutants, and only
// those run that call the mutant's function.
type together struct {
	*runner               // builds, with time enough
	limit   time.Duration // of a run of tests
	dir     string        // of what is built
	overlay string
	chosen  []mutant       // the number of a mutant is its index plus one
	lines   map[string]int // of a line of a changed file, the number of the mutant there
	begun   map[string]*program
}

// program is a test that is built.
type program struct {
	dir, file string
	args      []string
	reached   map[int]bool // mutants whose functions it calls
}

// chooser is the file that a package with mutants gets. In a run that looks for what tests reach,
// the number is -1, and functions add their first mutant to a file.
const chooser = `package %s

import (
	"os"
	"strconv"
	"sync"
)

var mutant__, _ = strconv.Atoi(os.Getenv("MUTATE_TRY"))

var reached__ sync.Map

func reach__(n int) {
	if _, again := reached__.LoadOrStore(n, true); again {
		return
	}
	if f, err := os.OpenFile(os.Getenv("MUTATE_REACHED"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		defer f.Close()
		f.WriteString(strconv.Itoa(n) + "\n")
	}
}
`

// choosable reports whether the copies of a function's body can stand in it: a label is there
// once, and without a panic at its end a copy may have no result.
func choosable(fn *ast.FuncDecl, m mutant) bool {
	ok := !strings.HasPrefix(m.text, "panic(")
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		_, label := n.(*ast.LabeledStmt)
		ok = ok && !label
		return ok
	})
	return ok
}

// merge returns a file with the bodies of its mutants, whose numbers are the keys of list.
func merge(file string, src []byte, list map[int]mutant) (text, pkg string, lines map[int]int, left []int, err error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return "", "", nil, nil, err
	}
	var b strings.Builder
	from, lines := 0, map[int]int{}
	numbers := slices.Sorted(func(yield func(int) bool) {
		for n := range list {
			if !yield(n) {
				return
			}
		}
	})
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		open, end := fset.Position(fn.Body.Lbrace).Offset+1, fset.Position(fn.Body.Rbrace).Offset
		first := true
		for _, n := range numbers {
			m := list[n]
			if m.from < open || m.to > end {
				continue
			}
			if !choosable(fn, m) {
				left = append(left, n)
				continue
			}
			if first {
				b.Write(src[from:open])
				from, first = open, false
				fmt.Fprintf(&b, "if mutant__ < 0 { reach__(%d) }\n", n)
			}
			begin := strings.Count(b.String(), "\n") + 1
			fmt.Fprintf(&b, "if mutant__ == %d {%s", n, string(src[open:m.from])+m.by+string(src[m.to:end]))
			if fn.Type.Results == nil {
				b.WriteString("\nreturn")
			}
			b.WriteString("\n}\n")
			for l := begin; l < strings.Count(b.String(), "\n")+1; l++ {
				lines[l] = n
			}
		}
	}
	b.Write(src[from:])
	return b.String(), f.Name.Name, lines, left, nil
}

var compileError = regexp.MustCompile(`(?m)^([^\s:]+\.go):(\d+):\d+: `)

// build chooses want mutants of a list that can be compiled together, and writes the overlay.
func (g *together) build(ctx context.Context, list []mutant, want int) (invalid int, err error) {
	bad := map[string]bool{}
	for {
		g.chosen = nil
		for _, m := range list {
			if len(g.chosen) < want && !bad[m.name()] {
				g.chosen = append(g.chosen, m)
			}
		}
		left, err := g.write()
		if err != nil {
			return invalid, err
		}
		for _, n := range left {
			bad[g.chosen[n-1].name()] = true
		}
		if len(left) > 0 {
			continue
		}
		var dirs []string
		for _, m := range g.chosen {
			if d := "./" + path.Dir(m.file); !slices.Contains(dirs, d) {
				dirs = append(dirs, d)
			}
		}
		ok, _, out := g.goCommand(ctx, g.overlay, append([]string{"build", "-gcflags=-e"}, dirs...)...)
		if ok || ctx.Err() != nil {
			return invalid, ctx.Err()
		}
		before := len(bad)
		for _, e := range compileError.FindAllSubmatch(out, -1) {
			if n := g.lines[filepath.Base(string(e[1]))+":"+string(e[2])]; n > 0 && !bad[g.chosen[n-1].name()] {
				bad[g.chosen[n-1].name()] = true
				invalid++
			}
		}
		if len(bad) == before {
			return invalid, fmt.Errorf("mutants do not compile together:\n%s", out)
		}
	}
}

// write writes the changed files and the overlay that names them. It returns the mutants that
// cannot be with others.
func (g *together) write() (left []int, err error) {
	files := map[string]map[int]mutant{}
	for i, m := range g.chosen {
		if files[m.file] == nil {
			files[m.file] = map[int]mutant{}
		}
		files[m.file][i+1] = m
	}
	replace := map[string]string{}
	g.lines = map[string]int{}
	for file, list := range files {
		src, err := os.ReadFile(filepath.Join(g.root, file))
		if err != nil {
			return nil, err
		}
		text, pkg, lines, others, err := merge(file, src, list)
		if err != nil {
			return nil, err
		}
		left = append(left, others...)
		base := filepath.Join(g.dir, strings.ReplaceAll(file, "/", "_"))
		for l, n := range lines {
			g.lines[filepath.Base(base)+":"+strconv.Itoa(l)] = n
		}
		added := filepath.Join(g.dir, strings.ReplaceAll(path.Dir(file), "/", "_")+"_chooser.go")
		if err := errors.Join(os.WriteFile(base, []byte(text), 0o600), os.WriteFile(added, fmt.Appendf(nil, chooser, pkg), 0o600)); err != nil {
			return nil, err
		}
		replace[filepath.Join(g.root, file)] = base
		replace[filepath.Join(g.root, path.Dir(file), "zz_mutant_chooser.go")] = added
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	g.overlay = filepath.Join(g.dir, "overlay.json")
	return left, os.WriteFile(g.overlay, text, 0o600)
}

// program returns the built tests of a package, after a run without a mutant, which has to pass.
func (g *together) program(ctx context.Context, pkg string, args []string) (*program, error) {
	key := pkg + " " + strings.Join(args, " ")
	if p := g.begun[key]; p != nil {
		return p, nil
	}
	dir := path.Clean(pkg)
	p := &program{dir: filepath.Join(g.root, dir), reached: map[int]bool{}}
	p.file = filepath.Join(g.dir, strings.ReplaceAll(dir, "/", "_")+".test")
	p.args = []string{"-test.paniconexit0", "-test.failfast", "-test.skip=" + skipped, "-test.timeout=" + (3 * g.limit).String()}
	for _, a := range args {
		if a[0] == '-' {
			a = "-test." + a[1:]
		}
		p.args = append(p.args, a)
	}
	g.begun[key] = p
	if _, err := os.Stat(p.file); err != nil {
		if ok, _, out := g.goCommand(ctx, g.overlay, "test", "-vet=off", "-c", "-o", p.file, pkg); !ok {
			return nil, fmt.Errorf("go test -c %s: %s", pkg, out)
		}
	}
	if _, err := os.Stat(p.file); err != nil {
		return p, nil // it has no tests
	}
	list := filepath.Join(g.dir, "reached")
	defer os.Remove(list)
	if ok, _, out := g.exec(ctx, p, 3*g.limit, "MUTATE_TRY=-1", "MUTATE_REACHED="+list); !ok {
		return nil, fmt.Errorf("the tests of %s fail without a mutant:\n%s", key, out)
	}
	text, err := os.ReadFile(list)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return nil, err
		}
		for i, m := range g.chosen { // all mutants of the function
			if first := g.chosen[n-1]; m.file == first.file && m.fn == first.fn {
				p.reached[i+1] = true
			}
		}
	}
	return p, nil
}

// exec runs a program with variables of the environment and a cache of kernels of its own.
func (g *together) exec(ctx context.Context, p *program, limit time.Duration, env ...string) (ok, late bool, out []byte) {
	kernels, err := os.MkdirTemp(g.dir, "cache")
	if err != nil {
		return false, false, []byte(err.Error())
	}
	defer os.RemoveAll(kernels)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(limited, p.file, p.args...)
	cmd.Dir, cmd.WaitDelay = p.dir, 5*time.Second
	cmd.Env = append(append(os.Environ(), g.environment(g.overlay, kernels)...), env...)
	out, err = cmd.CombinedOutput()
	return err == nil, limited.Err() != nil, out
}

// packages lists the packages of a pattern.
func (g *together) packages(ctx context.Context, pattern string) ([]string, error) {
	if !strings.Contains(pattern, "...") {
		return []string{pattern}, nil
	}
	cmd := exec.CommandContext(ctx, "go", "list", "-f", "./{{.Dir}}", pattern)
	cmd.Dir = g.root
	out, err := cmd.Output()
	return strings.Fields(strings.ReplaceAll(string(out), "./"+g.root+"/", "./")), err
}

// try runs the tests for a mutant, of its own package first.
func (g *together) try(ctx context.Context, n int, tests []test) (v verdict, by string, err error) {
	m := g.chosen[n-1]
	own := "./" + path.Dir(m.file)
	called, done := false, map[*program]bool{}
	for _, t := range append([]test{{own, "-short"}}, tests...) {
		end := slices.IndexFunc(t, func(a string) bool { return a[0] == '-' })
		if end < 0 {
			end = len(t)
		}
		for _, pattern := range t[:end] {
			list, err := g.packages(ctx, pattern)
			if err != nil {
				return unclear, "", err
			}
			for _, pkg := range list {
				p, err := g.program(ctx, pkg, t[end:])
				if err != nil {
					return unclear, "", err
				}
				if !p.reached[n] || done[p] {
					continue
				}
				called, done[p] = true, true
				ok, late, out := g.exec(ctx, p, g.limit, "MUTATE_TRY="+strconv.Itoa(n))
				how := failure(out)
				switch {
				case ok:
				case ctx.Err() != nil:
					return unclear, "", ctx.Err()
				case late:
					return killed, fmt.Sprintf("%s (after %v)", pkg, g.limit), nil
				case how == "":
					return unclear, fmt.Sprintf("%s failed, and no test did:\n%s", pkg, out), nil
				default:
					return killed, pkg + " " + how, nil
				}
			}
		}
	}
	if !called {
		return survived, "no test calls it", nil
	}
	return survived, "", nil
}

// allTogether tries so many mutants of a list, one after the other, compiled together.
func (t *trial) allTogether(ctx context.Context, list []mutant) error {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	g := &together{runner: &runner{root: t.root, limit: time.Hour}, limit: t.limit, dir: dir, begun: map[string]*program{}}
	list = slices.DeleteFunc(slices.Clone(list), func(m mutant) bool { return suiteOf(path.Dir(m.file)).kernels })
	if t.count[invalid], err = g.build(ctx, list, t.want); err != nil {
		return err
	}
	for i, m := range g.chosen {
		begin := time.Now()
		v, by, err := g.try(ctx, i+1, suiteOf(path.Dir(m.file)).tests)
		if t.report(m, v, by, time.Since(begin), err); t.err != nil {
			return t.err
		}
	}
	return nil
}
