package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// edges builds examples/edges, runs it with the interpreter and with machine code,
// and prints the least times of its steps on the device. The first run fills the
// cache, as for any program that is started again.
func edges(w io.Writer, c config, dir string) error {
	binary := filepath.Join(dir, "edges")
	build := exec.Command("go", "build", "-o", binary, "github.com/gokiln/kiln/examples/edges")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building examples/edges: %w\n%s", err, text)
	}
	run := func(device string) (steps map[string]float64, order []string, err error) {
		steps = map[string]float64{}
		for range 6 {
			cmd := exec.Command(binary, "-device", device, "-json", "-out", filepath.Join(dir, "edges.png"))
			cmd.Env = append(os.Environ(), "KILN_CACHE_DIR="+filepath.Join(dir, "cache"), "KILN_JIT=auto")
			text, err := cmd.Output()
			if err != nil {
				return nil, nil, fmt.Errorf("examples/edges on %s: %w", device, err)
			}
			var report struct {
				Steps []struct {
					Name string  `json:"name"`
					MS   float64 `json:"ms"`
				}
			}
			if err := json.Unmarshal(text, &report); err != nil {
				return nil, nil, fmt.Errorf("report of examples/edges: %w", err)
			}
			for _, s := range report.Steps {
				if old, ok := steps[s.Name]; !ok || s.MS < old {
					steps[s.Name] = s.MS
				}
				if !slices.Contains(order, s.Name) {
					order = append(order, s.Name)
				}
			}
		}
		return steps, order, nil
	}
	interp, order, err := run("cpu:interp")
	if err != nil {
		return err
	}
	native, _, err := run(c.device())
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\nexamples/edges, ms on the interpreter and as machine code:\n")
	sumA, sumB := 0.0, 0.0
	for _, name := range order {
		a, b := interp[name], native[name]
		fmt.Fprintf(w, "  %-28s %9.2f %9.2f %6.1f\n", name, a, b, a/b)
		if name != "pack" && !strings.Contains(name, "code") { // reading and writing picture files is Go
			sumA, sumB = sumA+a, sumB+b
		}
	}
	fmt.Fprintf(w, "  %-28s %9.2f %9.2f %6.1f\n", "without the picture files", sumA, sumB, sumA/sumB)
	return nil
}
