package nn

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Move gives the parameters of a network memory on another device, or of another floating-point
// type. Those without a value are left out. Quantized ones stay so: the type is what they are
// dequantized to, and another device is an error if they are no [QuantizedMover]. Variables are new: an
// optimiser has to be made after it.
func Move(m any, on On) error {
	list, err := List(m)
	if err != nil {
		return err
	}
	for _, p := range list {
		if !p.HasValue() {
			continue
		}
		if err := p.move(on); err != nil {
			return fmt.Errorf("nn: move %s: %w", p.Name, err)
		}
	}
	return nil
}

// Summary is a table of the parameters of a network: name, shape, type, count, and whether one is a
// buffer, frozen or shared.
func Summary(m any) (string, error) {
	list, err := List(m)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	total := 0
	for _, p := range list {
		dt, note := "-", ""
		if p.q != nil {
			dt = "quantized"
		} else if p.HasValue() {
			dt = p.t.DType().String()
		}
		switch {
		case p.buffer:
			note = "buffer"
		case p.IsFrozen():
			note = "frozen"
		}
		if len(p.Aliases) > 0 {
			note = strings.TrimSpace(note + " also " + strings.Join(p.Aliases, ", "))
		}
		if !p.buffer {
			total += p.Count()
		}
		fmt.Fprintf(w, "%s\t%v\t%s\t%d\t%s\n", p.Name, p.shape, dt, p.Count(), note)
	}
	fmt.Fprintf(w, "parameters\t\t\t%d\t\n", total)
	w.Flush()
	lines := strings.Split(text.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n"), nil
}
