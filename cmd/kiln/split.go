package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gokiln/kiln/cmd/kiln/internal/tensorfile"
	"github.com/gokiln/kiln/quantized/gguf"
)

// defaultMaxTensors is of how many tensors files are if no limit is given, as those of llama.cpp.
const defaultMaxTensors = 128

func tensorsSplit() *cobra.Command {
	var format, out, size string
	var dry bool
	var s gguf.Split
	cmd := &cobra.Command{
		Use:   "split file -o name",
		Short: "write a model as several GGUF files",
		Long: "Split writes the tensors of a file as GGUF files name-00001-of-00003.gguf and so on,\n" +
			"which llama.cpp and kiln read as one model by the first of them. Tensors stay in their\n" +
			"order. The first file has all metadata. A tensor that is larger than -max-size has a file\n" +
			"of its own. With -dry-run it prints the files, and writes none.",
		Example: "  kiln tensors split model.gguf -o model -max-size 4G",
		Args:    wanting(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if s.MaxBytes, err = parseSize(size); err != nil {
				return usageError{fmt.Errorf("-max-size: %w", err)}
			}
			switch set := cmd.Flags().Changed("max-tensors"); {
			case set && s.MaxTensors < 1:
				return usageError{fmt.Errorf("-max-tensors %d: want 1 at least", s.MaxTensors)}
			case !set && s.MaxBytes > 0:
				s.MaxTensors = 0
			}
			return splitTensors(cmd, args[0], format, out, dry, s)
		},
	}
	formatFlag(cmd, &format)
	cmd.Flags().StringVarP(&out, "output", "o", "",
		"the `name` of the files, in front of the number; it may end with .gguf")
	cmd.Flags().StringVar(&size, "max-size", "",
		"bytes of the tensors of a file at most, a `number` such as 500M or 4G, of 1000² and 1000³")
	cmd.Flags().IntVar(&s.MaxTensors, "max-tensors", defaultMaxTensors,
		"tensors of a file at most; without limit if only -max-size is given")
	cmd.Flags().BoolVar(&s.EmptyFirst, "no-tensor-first-split", false,
		"the first file has metadata only")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print the files that there would be")
	_ = cmd.MarkFlagRequired("output")
	return cmd
}

// parseSize is a number of bytes such as 500M, 0 of no text.
func parseSize(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	units := map[byte]int64{'K': 1e3, 'M': 1e6, 'G': 1e9}
	digits, unit := text, int64(1)
	if u, ok := units[strings.ToUpper(text)[len(text)-1]]; ok {
		digits, unit = text[:len(text)-1], u
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is no number of bytes, such as 500M or 4G", text)
	}
	return n * unit, nil
}

func splitTensors(cmd *cobra.Command, in, format, out string, dry bool, s gguf.Split) error {
	m, err := tensorfile.Open(in, format)
	if err != nil {
		return err
	}
	defer m.Close()
	parts, err := tensorfile.Split(out, m, s)
	if err != nil {
		return hint(err, tensorfile.Options{})
	}
	if dry {
		return printParts(cmd.OutOrStdout(), parts)
	}
	show, stop := byteProgress(cmd.ErrOrStderr(), sizeOf(m))
	paths, err := tensorfile.WriteParts(parts, show)
	stop()
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s, %s in %s\n", paths[0], count(m.Len(), "tensor"),
		sizeText(sizeOf(m)), count(len(paths), "file"))
	return nil
}

// sizeOf is how many bytes the tensors of a model have.
func sizeOf(m *tensorfile.Model) (n int64) {
	for e := range m.All() {
		n += e.Size()
	}
	return n
}

func printParts(out io.Writer, parts []gguf.Part) error {
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "FILE\tTENSORS\tBYTES")
	for _, p := range parts {
		var n int64
		for _, e := range p.Tensors {
			n += e.Size()
		}
		fmt.Fprintf(table, "%s\t%d\t%d\n", filepath.Base(p.Path), len(p.Tensors), n)
	}
	return table.Flush()
}

func tensorsMerge() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "merge file -o file",
		Short: "write a model in several GGUF files as one",
		Long: "Merge writes all tensors and the metadata of a model, of which any of its GGUF files\n" +
			"is named, as one GGUF file, which must not be there yet. What split has written becomes the\n" +
			"file that it was.",
		Example: "  kiln tensors merge model-00001-of-00003.gguf -o model.gguf",
		Args:    wanting(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return mergeTensors(cmd, args[0], out)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "the `file` to write")
	_ = cmd.MarkFlagRequired("output")
	return cmd
}

func mergeTensors(cmd *cobra.Command, in, out string) error {
	m, err := tensorfile.Open(in, "")
	if err != nil {
		return err
	}
	defer m.Close()
	wrote := int64(0)
	show, stop := byteProgress(cmd.ErrOrStderr(), sizeOf(m))
	err = tensorfile.Merge(out, m, func(n int64) { wrote = n; show(n) })
	stop()
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s of %s, %s\n", out, count(m.Len(), "tensor"),
		count(len(m.Files()), "file"), sizeText(wrote))
	return nil
}
