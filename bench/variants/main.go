package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/jit/record"
	"github.com/gokiln/kiln/prebuilt/commonops"
	"github.com/gokiln/kiln/tensor"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "variants:", err)
		}
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("variants", flag.ContinueOnError)
	flags.SetOutput(stderr)
	device := flags.String("device", "cpu", "device to compile for, or several with commas between them")
	keep := flags.String("record", "", "keep the record of what is used in this file, for kiln prebuild, in place of what it has for the same target")
	byOp := flags.Bool("ops", false, "print a row for each operation")
	first := flags.Bool("first", false, "print how long the first use of all operations takes in a process with an empty cache")
	bundles := flags.Bool("prebuilt", false, "with -first, take what the packages in prebuilt have")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *first {
		return firstUse(stdout, *device, *bundles)
	}
	c, err := collect(*device, *keep)
	if err != nil {
		return err
	}
	if *byOp {
		return c.writeOps(stdout)
	}
	return c.writeFamilies(stdout)
}

// collection is what the cases compiled.
type collection struct {
	ops   []opCost
	specs []record.Spec
	spent map[string]time.Duration // by family
	built map[string]int           // variants by family
}

// opCost is what was compiled for the first time when an operation was used.
type opCost struct {
	name     string
	variants int
	compile  time.Duration
}

// collect runs the cases in this process, which must not have used a kernel before.
func collect(device, keep string) (*collection, error) {
	dir, err := os.MkdirTemp("", "kiln-variants-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "kernels.txt")
	if err := errors.Join(os.Setenv("KILN_RECORD", file), os.Setenv("KILN_JIT", "off")); err != nil {
		return nil, err
	}
	c := &collection{spent: map[string]time.Duration{}, built: map[string]int{}}
	var now opCost
	defer jit.OnResolve(func(e jit.Event) {
		now.variants++
		now.compile += e.Total
		family := familyOf(e.Kernel)
		c.spent[family] += e.Total
		c.built[family]++
	})()
	for _, name := range strings.Split(device, ",") {
		d, err := tensor.Open(name)
		if err != nil {
			return nil, err
		}
		for _, op := range commonops.Cases() {
			now = opCost{name: op.Name}
			if err := op.Run(d); err != nil {
				return nil, fmt.Errorf("%s: %w", op.Name, err)
			}
			c.ops = append(c.ops, now)
		}
		if err := d.Synchronize(); err != nil {
			return nil, err
		}
	}
	var set record.Set
	if err := set.Load(file); err != nil {
		return nil, err
	}
	c.specs = set.Specs()
	if keep != "" {
		return c, replace(keep, &set)
	}
	return c, nil
}

// replace keeps a record in a file, in place of what that has for the same targets.
func replace(name string, set *record.Set) error {
	var kept record.Set
	if err := kept.Load(name); err != nil {
		return err
	}
	for _, s := range set.Specs() {
		for _, target := range s.Targets {
			kept.Drop(target)
		}
	}
	for _, s := range set.Specs() {
		kept.Add(s)
	}
	return kept.Save(name)
}

func (c *collection) writeOps(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "operation\tvariants\tms")
	var all opCost
	for _, op := range c.ops {
		fmt.Fprintf(t, "%s\t%d\t%.0f\n", op.name, op.variants, millis(op.compile))
		all.variants, all.compile = all.variants+op.variants, all.compile+op.compile
	}
	fmt.Fprintf(t, "all\t%d\t%.0f\n", all.variants, millis(all.compile))
	return t.Flush()
}

func (c *collection) writeFamilies(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "| family\t| variants\t| specialisations\t| types\t| functions\t| ms\t| fewer without a parameter\t|")
	fmt.Fprintln(t, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	var variants, specs int
	var spent time.Duration
	for _, f := range families(c.specs) {
		fmt.Fprintf(t, "| %s\t| %d\t| %d\t| %d\t| %d\t| %.0f\t| %s\t|\n", f.name, c.built[f.name], f.specs, f.types, f.funcs, millis(c.spent[f.name]), f.parameters())
		variants, specs, spent = variants+c.built[f.name], specs+f.specs, spent+c.spent[f.name]
	}
	fmt.Fprintf(t, "| all\t| %d\t| %d\t| \t| \t| %.0f\t| \t|\n", variants, specs, millis(spent))
	return t.Flush()
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
