package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/gokiln/kiln/cmd/kiln/internal/rehearse"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/jit/record"
	"github.com/gokiln/kiln/runtime"
)

// rehearse adds to a set what models use on devices of targets, each for the targets where it does.
// Devices that run nothing stand for those, with the model's weights as they would be there.
func (w *wanted) rehearse(cmd *cobra.Command, targets []target.Target, set *record.Set) error {
	if len(targets) == 0 {
		return usageError{errors.New("-target is missing: for which devices is the model?")}
	}
	if min(w.batch, w.chunk) < 1 || slices.ContainsFunc(w.units, func(n int) bool { return n < 1 }) {
		return usageError{errors.New("-batch, -chunk and -units: want 1 at least")}
	}
	var names []string
	for _, t := range targets {
		list := runtime.RecordDevices(t.String(), w.units...)
		if len(list) == 0 {
			return usageError{fmt.Errorf("-model: no device is known that runs code for %s", t)}
		}
		names = append(names, list...)
	}
	dir, err := os.MkdirTemp("", "kiln-rehearse")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "kernels.txt")
	// The environment is read with the first kernel, and this is before it.
	for name, value := range map[string]string{"KILN_RECORD": file, "KILN_JIT": "auto", "KILN_TUNE": "off"} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	for _, model := range w.models {
		if err := w.rehearseOn(cmd, model, names); err != nil {
			return fmt.Errorf("-model: %w", err)
		}
	}
	return readRecord(set, file)
}

// rehearseOn rehearses a model on devices, some at the same time.
func (w *wanted) rehearseOn(cmd *cobra.Command, model string, devices []string) error {
	path, err := localModel(cmd, model)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "rehearsing %s for %s\n", model, strings.Join(devices, ", "))
	var group errgroup.Group
	group.SetLimit(goruntime.GOMAXPROCS(0))
	for _, name := range devices {
		o, _, err := modelOptions(io.Discard, name, w.dtype)
		if err != nil {
			return err
		}
		group.Go(func() error {
			return rehearse.Model(path, o, rehearse.Work{Sequences: w.batch, Chunk: w.chunk})
		})
	}
	return group.Wait()
}

// readRecord adds what is in a file to a set.
func readRecord(set *record.Set, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return set.ReadFrom(name, file)
}
