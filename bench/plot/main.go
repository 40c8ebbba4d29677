package main

import (
	"fmt"
	"os"
	"path/filepath"
)

const results = "../results"

func main() {
	if err := writeAll(); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

func writeAll() error {
	for _, c := range charts {
		text, err := c.draw(results)
		if err != nil {
			return fmt.Errorf("%s: %w", c.file, err)
		}
		if err := os.WriteFile(filepath.Join(results, c.file), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}
