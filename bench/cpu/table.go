package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
)

// ratio returns our least time over that of the versions with those names, 0 if
// there is none.
func (r result) ratio(names ...string) float64 {
	least := math.Inf(1)
	for _, v := range r.versions[1:] {
		if slices.Contains(names, v.name) {
			least = min(least, slices.Min(v.samples))
		}
	}
	return slices.Min(r.versions[0].samples) / least
}

// least returns the least time of a version, by name, in microseconds.
func (r result) least(name string) float64 {
	for _, v := range r.versions {
		if v.name == name {
			return slices.Min(v.samples) * 1e6
		}
	}
	return math.NaN()
}

// columns are the peers of the ratios.
var columns = [][]string{{"clang"}, {"512"}, {"alt"}, {"clang", "512", "alt"}, {"fast"}}

// writeTable prints a line a case and the geometric means of the ratios: our time
// over that of C, so that below one is faster. Extra cases are not in the means.
func writeTable(w io.Writer, results []result, peak float64) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "kernel\tkiln µs\tclang µs\tratio\t512\talt\tbest\tfast\trate")
	var logs, n [5]float64
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%.1f\t%.1f", r.name, r.least("kiln"), r.least("clang"))
		for i, names := range columns {
			x := r.ratio(names...)
			if x == 0 {
				fmt.Fprint(t, "\t-")
				continue
			}
			fmt.Fprintf(t, "\t%.2f", x)
			if !r.extra {
				logs[i], n[i] = logs[i]+math.Log(x), n[i]+1
			}
		}
		fmt.Fprintf(t, "\t%s\n", r.rate(peak))
	}
	fmt.Fprint(t, "geometric mean*\t\t")
	for i := range columns {
		fmt.Fprintf(t, "\t%.3f", math.Exp(logs[i]/n[i]))
	}
	fmt.Fprintln(t, "\t* without SaxpyMemory and Tanh")
	return t.Flush()
}

// rate is what our version reaches of whatever the kernel is bound by.
func (r result) rate(peak float64) string {
	took := r.least("kiln") / 1e6
	if r.flops > 0 {
		return fmt.Sprintf("%.1f Gflop/s, %.0f %% of the peak", r.flops/took/1e9, 100*r.flops/took/peak)
	}
	return fmt.Sprintf("%.1f GB/s", r.bytes/took/1e9)
}
