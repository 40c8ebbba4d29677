package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gokiln/kiln/cmd/kiln/internal/selftest"
	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/runtime"
)

func devicesCommand() *cobra.Command {
	var asJSON, noTest bool
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "what was looked for, found, and a self-test of each device",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return devices(cmd.OutOrStdout(), asJSON, !noTest)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	cmd.Flags().BoolVar(&noTest, "no-test", false, "do not run the self-test")
	return cmd
}

// deviceReport is a device as -json prints it.
type deviceReport struct {
	runtime.Info
	Features []compiler.Feature
	Lacks    map[compiler.Feature]string `json:",omitempty"` // and why
	SelfTest string                      `json:",omitempty"` // "ok" or what failed
	TestMS   float64                     `json:",omitempty"`
}

// backendReport is a backend as -json prints it.
type backendReport struct {
	Kind    string
	Looked  []string
	Library string
	Driver  string
	Error   string `json:",omitempty"`
	Devices []deviceReport
}

func devices(w io.Writer, asJSON, test bool) error {
	var reports []backendReport
	failed := false
	for _, p := range runtime.Probe() {
		r := backendReport{Kind: p.Kind, Looked: p.Looked, Library: p.Library, Driver: p.Driver}
		if p.Err != nil {
			r.Error = p.Err.Error()
		}
		for _, info := range p.Devices {
			d := deviceReport{Info: info}
			d.features()
			if test {
				d.SelfTest, d.TestMS = runTest(info.Name)
				failed = failed || d.SelfTest != "ok"
			}
			r.Devices = append(r.Devices, d)
		}
		reports = append(reports, r)
	}
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		if err := enc.Encode(reports); err != nil {
			return fmt.Errorf("writing report: %w", err)
		}
	} else {
		for _, r := range reports {
			printBackend(w, r)
		}
	}
	if failed {
		return errProblems
	}
	return nil
}

// features asks the compiler what code for the device can have.
func (d *deviceReport) features() {
	t, err := compiler.TargetFor(d.Formats, d.Arch)
	if err != nil {
		return // the self-test says so
	}
	for _, f := range compiler.Features() {
		err := compiler.Supports(t, f)
		if lack := (*target.Unsupported)(nil); errors.As(err, &lack) {
			if d.Lacks == nil {
				d.Lacks = map[compiler.Feature]string{}
			}
			d.Lacks[f] = lack.Why
		} else if err == nil {
			d.Features = append(d.Features, f)
		}
	}
}

func runTest(name string) (result string, ms float64) {
	start := time.Now()
	dev, err := runtime.Open(name)
	if err == nil {
		err = selftest.Run(dev)
		dev.Close()
	}
	ms = float64(time.Since(start).Microseconds()) / 1000
	if err != nil {
		return err.Error(), ms
	}
	return "ok", ms
}

func printBackend(w io.Writer, r backendReport) {
	fmt.Fprintf(w, "%s: ", r.Kind)
	switch {
	case r.Error != "":
		fmt.Fprintf(w, "no devices: %s\n", r.Error)
	case len(r.Devices) == 1:
		fmt.Fprintln(w, "1 device")
	default:
		fmt.Fprintf(w, "%d devices\n", len(r.Devices))
	}
	if len(r.Looked) > 0 {
		fmt.Fprintf(w, "  looked for  %s\n", strings.Join(r.Looked, ", "))
	}
	if r.Library != "" {
		fmt.Fprintf(w, "  library     %s\n", r.Library)
	}
	if r.Driver != "" {
		fmt.Fprintf(w, "  driver      %s\n", r.Driver)
	}
	for _, d := range r.Devices {
		printDevice(w, d)
	}
}

func printDevice(w io.Writer, d deviceReport) {
	fmt.Fprintf(w, "  %s\n", d.Name)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "    %-10s%s\n", name, fmt.Sprintf(format, args...))
	}
	row("model", "%s, %s", d.Model, d.Arch)
	units := "not told" // as by Metal
	if d.Units > 0 {
		units = strconv.Itoa(d.Units)
	}
	row("units", "%s, warps of %d threads, blocks of up to %d", units, d.WarpSize, d.MaxThreads)
	row("memory", "%s, shared %s a block", size(d.MemTotal), size(int64(d.SharedPerBlock)))
	row("loads", "%s", strings.Join(d.Formats, ", "))
	var has []string
	for _, f := range d.Features {
		has = append(has, string(f))
	}
	row("features", "%s", strings.Join(has, ", "))
	for _, f := range slices.Sorted(maps.Keys(d.Lacks)) {
		row("lacks", "%s: %s", f, d.Lacks[f])
	}
	if d.SelfTest != "" {
		row("self-test", "%s (%.1f ms)", d.SelfTest, d.TestMS)
	}
}

func size(n int64) string {
	const units = "KMGTP"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	x, u := float64(n)/1024, 0
	for x >= 1024 && u < len(units)-1 {
		x, u = x/1024, u+1
	}
	return fmt.Sprintf("%.4g %ciB", x, units[u])
}
