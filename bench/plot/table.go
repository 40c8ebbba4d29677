package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// table is a file of results.
type table struct {
	columns []string
	rows    [][]string
}

func readTable(path string) (*table, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t := &table{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || line[0] == '#' {
			continue
		}
		cells := strings.Split(line, "\t")
		if t.columns == nil {
			t.columns = cells
			continue
		}
		if len(cells) != len(t.columns) {
			return nil, fmt.Errorf("%s: %q has %d cells, the head has %d", path, line, len(cells), len(t.columns))
		}
		t.rows = append(t.rows, cells)
	}
	return t, nil
}

// names returns the first column.
func (t *table) names() []string {
	list := make([]string, len(t.rows))
	for i, r := range t.rows {
		list[i] = r[0]
	}
	return list
}

// column returns the numbers under a head, NaN where there is none. Times are in microseconds if
// a column says which unit each row has.
func (t *table) column(head string) ([]float64, error) {
	at, unit := slices.Index(t.columns, head), slices.Index(t.columns, "unit")
	if at < 0 {
		return nil, fmt.Errorf("no column %q", head)
	}
	list := make([]float64, len(t.rows))
	for i, r := range t.rows {
		if r[at] == "-" {
			list[i] = math.NaN()
			continue
		}
		v, err := strconv.ParseFloat(r[at], 64)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", r[0], head, err)
		}
		if unit >= 0 && r[unit] == "ms" {
			v *= 1000
		}
		list[i] = v
	}
	return list, nil
}
