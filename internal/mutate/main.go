package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

//go:embed survivors.txt
var explained string

type options struct {
	n       int
	seed    uint64
	jobs    int
	only    string
	list    bool
	apart   bool
	folders []string
}

func main() {
	var o options
	r := &runner{}
	flag.IntVar(&o.n, "n", 20, "number of mutants to try")
	flag.Uint64Var(&o.seed, "seed", 1, "chooses the sample")
	flag.IntVar(&o.jobs, "j", 1, "mutants at a time; tests use all processors by themselves")
	flag.StringVar(&o.only, "only", "", "try the mutants whose names begin so")
	flag.BoolVar(&o.apart, "apart", false, "compile each mutant by itself, which kernels and functions with labels need")
	flag.BoolVar(&o.list, "list", false, "print the names of all mutants and try none")
	flag.DurationVar(&r.limit, "limit", 10*time.Minute, "time for one run of the go command")
	flag.Parse()
	o.folders = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	left, err := run(ctx, r, o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if left > 0 {
		os.Exit(1)
	}
}

// run tries mutants and returns how many are neither killed nor survive with a reason.
func run(ctx context.Context, r *runner, o options, w io.Writer) (unexplained int, err error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return 0, fmt.Errorf("the module's folder, by go list -m: %w", err)
	}
	r.root = string(bytes.TrimSpace(out))
	groups, err := collect(r.root, o.folders)
	if err != nil {
		return 0, err
	}
	drawn := draw(groups, o)
	if o.list {
		for _, m := range drawn {
			fmt.Fprintf(w, "%s:%d\t%s\n", m.file, m.line, m.name())
		}
		return 0, nil
	}
	t := &trial{runner: r, w: w, want: o.n, reasons: reasons(explained)}
	if o.only != "" {
		t.want = len(drawn)
	}
	if o.apart || o.only != "" {
		err = t.all(ctx, drawn, o.jobs)
	} else {
		err = t.allTogether(ctx, drawn)
	}
	fmt.Fprintf(w, "%d killed, %d survived, %d of these without a reason; %d did not compile, %d were not tested\n", t.count[killed], t.count[survived], t.unexplained-t.count[unclear], t.count[invalid], t.count[unclear])
	return t.unexplained, err
}

// collect returns the mutants of folders, by folder; of all that have a suite if none is named.
func collect(root string, folders []string) (groups [][]mutant, err error) {
	if len(folders) == 0 {
		for _, s := range suites {
			folders = append(folders, "./"+s.dir+"/...")
		}
	}
	seen := map[string]bool{}
	for _, f := range folders {
		dir, below := strings.CutSuffix(path.Clean(filepath.ToSlash(f)), "/...")
		if suiteOf(dir) == nil {
			return nil, fmt.Errorf("%s: suites.go names no tests for it", f)
		}
		var group []mutant
		err := filepath.WalkDir(filepath.Join(root, dir), func(name string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, name)
			rel = filepath.ToSlash(rel)
			switch {
			case err != nil:
				return err
			case d.IsDir() && (rel != dir && !below || d.Name() == "testdata" || suiteOf(rel) != suiteOf(dir)):
				return filepath.SkipDir
			case d.IsDir() || seen[rel] || passedOver(d.Name()):
				return nil
			}
			seen[rel] = true
			src, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			list, err := sites(rel, src)
			group = append(group, list...)
			return err
		})
		if err != nil {
			return nil, err
		}
		groups = append(groups, group)
	}
	return groups, nil
}

// draw orders mutants for a run: those that were asked for, or all of the groups in random order,
// one of each group in turn, so that a sample has as many of a small package as of a large one.
func draw(groups [][]mutant, o options) (list []mutant) {
	rng := rand.New(rand.NewPCG(o.seed, 0))
	longest := 0
	for _, g := range groups {
		if !o.list {
			rng.Shuffle(len(g), func(i, j int) { g[i], g[j] = g[j], g[i] })
		}
		longest = max(longest, len(g))
	}
	for i := range longest {
		for _, g := range groups {
			if i < len(g) && strings.HasPrefix(g[i].name(), o.only) {
				list = append(list, g[i])
			}
		}
	}
	return list
}

// reasons reads survivors.txt: the name of a mutant, a tab, and why it survives.
func reasons(text string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(text) {
		if name, why, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && !strings.HasPrefix(name, "#") {
			m[name] = why
		}
	}
	return m
}

// trial is a run over mutants until so many have been tried.
type trial struct {
	*runner
	w       io.Writer
	want    int
	reasons map[string]string

	mu          sync.Mutex
	next        int
	count       [4]int
	unexplained int
	err         error
}

func (t *trial) all(ctx context.Context, list []mutant, jobs int) error {
	var wg sync.WaitGroup
	for range max(jobs, 1) {
		wg.Go(func() {
			for {
				m, ok := t.take(list)
				if !ok || ctx.Err() != nil {
					return
				}
				begin := time.Now()
				v, by, err := t.try(ctx, m, suiteOf(path.Dir(m.file)).tests)
				t.report(m, v, by, time.Since(begin), err)
			}
		})
	}
	wg.Wait()
	return errors.Join(t.err, ctx.Err())
}

// take returns the next mutant. One that does not compile makes room for another.
func (t *trial) take(list []mutant) (m mutant, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil || t.next >= len(list) || t.next-t.count[invalid] >= t.want {
		return m, false
	}
	t.next++
	return list[t.next-1], true
}

func (t *trial) report(m mutant, v verdict, by string, took time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.err = err
		return
	}
	t.count[v]++
	at := fmt.Sprintf("%4ds %s:%d", int(took.Seconds()), m.file, m.line)
	switch why, known := t.reasons[m.name()]; {
	case v == killed:
		fmt.Fprintf(t.w, "killed   %s\t%s\tby %s\n", at, m.name(), by)
	case v == unclear:
		t.unexplained++
		fmt.Fprintf(t.w, "UNCLEAR  %s\t%s\t%s\n", at, m.name(), by)
	case v == survived && known:
		fmt.Fprintf(t.w, "survived %s\t%s\t%s\n", at, m.name(), why)
	case v == survived:
		t.unexplained++
		fmt.Fprintf(t.w, "SURVIVED %s\t%s\t%s\n", at, m.name(), by)
	}
}
