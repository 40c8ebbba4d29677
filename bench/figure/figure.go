package figure

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// Row is one figure. Other systems' scripts print the same fields.
type Row struct {
	Suite  string  `json:"suite"`          // saxpy, launch, cold, tensor, firstop
	What   string  `json:"what"`           // what was measured
	Who    string  `json:"who"`            // kiln, driver, triton, torch, nvrtc
	Median float64 `json:"median"`         // in Unit
	Low    float64 `json:"p10"`            // 10th percentile
	High   float64 `json:"p90"`            // 90th percentile
	Unit   string  `json:"unit"`           // GB/s, ns, ms
	Note   string  `json:"note,omitempty"` // how it was done, what it depends on
}

// Of summarises samples.
func Of(suite, what, who, unit, note string, samples []float64) Row {
	return Row{
		Suite: suite, What: what, Who: who, Unit: unit, Note: note,
		Median: Quantile(samples, 0.5), Low: Quantile(samples, 0.1), High: Quantile(samples, 0.9),
	}
}

// Quantile interpolates between the two nearest samples; 0 if there are none.
func Quantile(samples []float64, q float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(samples))
	at := q * float64(len(s)-1)
	i := int(at)
	if i+1 == len(s) {
		return s[i]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

// WriteJSON prints a line for each row.
func WriteJSON(w io.Writer, rows []Row) error {
	enc := json.NewEncoder(w)
	for _, r := range rows {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// Read reads files of rows as lines of JSON.
func Read(names []string) (rows []Row, err error) {
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for i, line := range strings.Split(string(data), "\n") {
			if strings.TrimSpace(line) == "" {
				continue
			}
			var r Row
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// WriteList prints the medians alone, in the order they came.
func WriteList(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", r.What, number(r.Median), r.Unit, r.Note)
	}
	return t.Flush()
}

// WriteTable prints the rows by suite and subject, in the order they came.
func WriteTable(w io.Writer, rows []Row) error {
	order := map[string]int{}
	key := func(r Row) int {
		k := r.Suite + "\x00" + r.What
		if _, ok := order[k]; !ok {
			order[k] = len(order)
		}
		return order[k]
	}
	suite := map[string]int{}
	for _, r := range rows {
		if _, ok := suite[r.Suite]; !ok {
			suite[r.Suite] = len(suite)
		}
		key(r)
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b Row) int {
		if d := suite[a.Suite] - suite[b.Suite]; d != 0 {
			return d
		}
		return key(a) - key(b)
	})
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "suite\twhat\twho\tmedian\tp10..p90\tunit\tnote")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s..%s\t%s\t%s\n", r.Suite, r.What, r.Who, number(r.Median), number(r.Low), number(r.High), r.Unit, r.Note)
	}
	return t.Flush()
}

// WriteRatios prints what two systems reached, the quotients, and their geometric mean:
// the fastest tenth of the samples, and of several rows for the same the best. What else
// runs on a machine slows the others.
func WriteRatios(w io.Writer, rows []Row, a, b string) error {
	best := map[[2]string]float64{} // speeds
	var order []Row
	for _, r := range rows {
		key := [2]string{r.What, r.Who}
		if _, ok := best[key]; !ok && r.Who == a {
			order = append(order, r)
		}
		speed := r.High
		if r.isTime() {
			speed = 1 / r.Low
		}
		best[key] = max(best[key], speed)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "what\t%s\t%s\tunit\tratio\n", a, b)
	logs, n := 0.0, 0
	for _, r := range order {
		x, y := best[[2]string{r.What, a}], best[[2]string{r.What, b}]
		if x == 0 || y == 0 {
			continue
		}
		ratio := x / y
		logs, n = logs+math.Log(ratio), n+1
		if r.isTime() {
			x, y = 1/x, 1/y
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.2f\n", r.What, number(x), number(y), r.Unit, ratio)
	}
	fmt.Fprintf(t, "geometric mean of %d\t\t\t\t%.3f\n", n, math.Exp(logs/float64(max(n, 1))))
	return t.Flush()
}

// isTime reports whether less is better.
func (r *Row) isTime() bool { return r.Unit == "ns" || r.Unit == "ms" }

// number prints four significant digits without an exponent.
func number(x float64) string {
	digits := 0
	if x != 0 && !math.IsInf(x, 0) && !math.IsNaN(x) {
		digits = max(0, 3-int(math.Floor(math.Log10(math.Abs(x)))))
	}
	return fmt.Sprintf("%.*f", digits, x)
}
