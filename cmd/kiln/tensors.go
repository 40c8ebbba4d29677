package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/gokiln/kiln/cmd/kiln/internal/tensorfile"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

// tensorsCommand looks into files of tensors.
func tensorsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tensors",
		Short: "look into files of tensors, compare them, write other formats",
		Long: "Tensors works on files of tensors: GGUF, safetensors, npy, npz, those of torch.save,\n" +
			"and the GGML files that came before GGUF. The format is found by what a file begins with and\n" +
			"by its ending; -format names it. Nothing of a file is executed, and no GPU is used.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Help()
			return usageError{errors.New("which command of tensors?")}
		},
	}
	cmd.AddCommand(tensorsList(), tensorsPrint(), tensorsDiff(), tensorsConvert(false),
		tensorsConvert(true), tensorsQuantize(), tensorsSplit(), tensorsMerge())
	return cmd
}

// formatFlag is the flag for the format of files that are read.
func formatFlag(cmd *cobra.Command, p *string) {
	cmd.Flags().StringVar(p, "format", "",
		"the `format` of the files, which is found otherwise: "+strings.Join(tensorfile.Formats(), ", "))
}

// wanting is a check of arguments whose failure is wrong use.
func wanting(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}

func tensorsList() *cobra.Command {
	var format string
	var asJSON, verbose bool
	cmd := &cobra.Command{
		Use:   "ls files...",
		Short: "list tensors: names, shapes, types and sizes",
		Long: "Ls lists the tensors of files of any format, of a model in several files by its index or\n" +
			"the first of its GGUF files, or of a folder with such an index. With -v metadata is\n" +
			"printed too, of GGUF files with types.",
		Example: "  kiln tensors ls -v model-00001-of-00003.gguf\n  kiln tensors ls -json a.pth b.npz",
		Args:    wanting(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return listTensors(cmd.OutOrStdout(), args, format, asJSON, verbose)
		},
	}
	formatFlag(cmd, &format)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array with an object for each file")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "print metadata")
	return cmd
}

// listed is a file as -json prints it.
type listed struct {
	File     string            `json:"file"`
	Format   string            `json:"format"`
	Files    []string          `json:"files,omitempty"` // of a model in several files
	Metadata []tensorfile.Fact `json:"metadata"`
	Tensors  []listedTensor    `json:"tensors"`
	Elements int               `json:"elements"`
	Bytes    int64             `json:"bytes"`
}

type listedTensor struct {
	Name   string `json:"name"`
	Shape  []int  `json:"shape"`
	Type   string `json:"type"`
	Bytes  int64  `json:"bytes"`
	File   string `json:"file,omitempty"`
	Offset int64  `json:"offset"` // -1 if the bytes are not there as they are
}

func listTensors(out io.Writer, paths []string, format string, asJSON, verbose bool) error {
	all := []listed{}
	for _, path := range paths {
		l, err := listFile(path, format)
		if err != nil {
			return err
		}
		all = append(all, l)
	}
	if asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(all)
	}
	for i, l := range all {
		if len(all) > 1 {
			fmt.Fprintf(out, "%s%s:\n", strings.Repeat("\n", min(i, 1)), l.File)
		}
		if err := l.print(out, verbose); err != nil {
			return err
		}
	}
	return nil
}

func listFile(path, format string) (listed, error) {
	m, err := tensorfile.Open(path, format)
	if err != nil {
		return listed{}, err
	}
	l := listed{File: path, Format: m.Format, Tensors: []listedTensor{}}
	if files := m.Files(); len(files) > 1 {
		l.Files = files
	}
	l.Metadata = append([]tensorfile.Fact{}, m.Facts()...)
	for e := range m.All() {
		t := listedTensor{e.Name, append([]int{}, e.Shape()...), e.Stored, e.Size(), e.Path, e.Offset}
		l.Tensors = append(l.Tensors, t)
		l.Elements += e.Layout.Count()
		l.Bytes += t.Bytes
	}
	return l, m.Close()
}

func (l *listed) print(out io.Writer, verbose bool) error {
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	if verbose {
		for _, f := range l.Metadata {
			fmt.Fprintf(table, "%s\t%s\t%s\n", printable(f.Key), f.Type, printable(f.Text))
		}
		if len(l.Metadata) > 0 {
			fmt.Fprintln(table)
		}
	}
	fmt.Fprintln(table, "NAME\tSHAPE\tTYPE\tBYTES")
	for _, t := range l.Tensors {
		fmt.Fprintf(table, "%s\t%v\t%s\t%d\n", printable(t.Name), tensor.Shape(t.Shape), t.Type, t.Bytes)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	in := ""
	if len(l.Files) > 0 {
		in = " in " + count(len(l.Files), "file")
	}
	_, err := fmt.Fprintf(out, "%s, %s, %s%s\n", count(len(l.Tensors), "tensor"),
		count(l.Elements, "element"), sizeText(l.Bytes), in)
	return err
}

// printable is text of a file on one line of a terminal, without what controls it.
func printable(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '·'
		}
		return r
	}, s)
}

// sizeText is a number of bytes to read.
func sizeText(n int64) string {
	const unit = "KMGTPE"
	x, i := float64(n), -1
	for x >= 1000 && i+1 < len(unit) {
		x, i = x/1000, i+1
	}
	if i < 0 {
		return count(int(n), "byte")
	}
	return fmt.Sprintf("%.1f %cB", x, unit[i])
}

func tensorsPrint() *cobra.Command {
	var format string
	var full bool
	o := tensor.DefaultPrintOptions()
	cmd := &cobra.Command{
		Use:   "print file [names...]",
		Short: "print the values of tensors",
		Long: "Print prints the named tensors, or the only one of a file; large ones by their edges,\n" +
			"unless -full is given, and those of quantized types dequantized.",
		Example: "  kiln tensors print model.gguf output_norm.weight blk.0.attn_q.weight",
		Args:    wanting(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if full {
				o.Threshold = -1
			}
			return printTensors(cmd.OutOrStdout(), args[0], format, args[1:], o)
		},
	}
	formatFlag(cmd, &format)
	cmd.Flags().BoolVar(&full, "full", false, "print all elements")
	cmd.Flags().IntVar(&o.LineWidth, "line-width", o.LineWidth,
		"characters of a line; 0: rows are not broken")
	cmd.Flags().IntVar(&o.Precision, "precision", o.Precision, "digits behind the point")
	return cmd
}

func printTensors(out io.Writer, path, format string, names []string, o tensor.PrintOptions) error {
	m, err := tensorfile.Open(path, format)
	if err != nil {
		return err
	}
	defer m.Close()
	if len(names) == 0 {
		if names = m.Names(); len(names) != 1 {
			return usageError{fmt.Errorf("%s has %s: which? 'kiln tensors ls' lists them", path,
				count(len(names), "tensor"))}
		}
	}
	cpu, err := tensor.Open("cpu")
	if err != nil {
		return err
	}
	for _, name := range names {
		e, err := m.Get(name)
		if err != nil {
			return err
		}
		stored := e.Stored
		if e.Encoding().Quantized() {
			if e, err = tensorfile.Convert(e, dtype.F32); err != nil {
				return err
			}
		}
		t := tensor.Load(cpu, e)
		if t.Err() != nil {
			return t.Err()
		}
		if _, err := fmt.Fprintf(out, "%s (%s)\n%s\n", printable(name), stored, t.Text(o)); err != nil {
			return err
		}
	}
	return nil
}

func tensorsDiff() *cobra.Command {
	var format string
	var asJSON bool
	var t tensorfile.Tolerance
	cmd := &cobra.Command{
		Use:   "diff file file",
		Short: "say how the tensors of two files differ",
		Long: "Diff compares the tensors of two files of any formats by their names: shapes, types,\n" +
			"and values, those of quantized types dequantized; integers exactly, others as float64. The exit\n" +
			"status is 1 if a tensor is in one file only, has another shape or type, or if\n" +
			"|x - y| > atol + rtol·max(|x|, |y|) for a value.",
		Example: "  kiln tensors diff model.safetensors model.Q8_0.gguf -any-type -rtol 0.01",
		Args:    wanting(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, f := range []struct {
				name string
				x    float64
			}{{"atol", t.Abs}, {"rtol", t.Rel}} {
				if !(f.x >= 0) {
					return usageError{fmt.Errorf("-%s %v: want a number that is not negative", f.name, f.x)}
				}
			}
			return diffTensors(cmd, args, format, asJSON, t)
		},
	}
	formatFlag(cmd, &format)
	cmd.Flags().BoolVar(&asJSON, "json", false,
		"print a JSON array with an object for each tensor that differs")
	cmd.Flags().Float64Var(&t.Abs, "atol", 0, "absolute difference that is allowed")
	cmd.Flags().Float64Var(&t.Rel, "rtol", 0, "relative difference that is allowed")
	cmd.Flags().BoolVar(&t.AnyType, "any-type", false, "element types may differ")
	return cmd
}

func diffTensors(cmd *cobra.Command, paths []string, format string, asJSON bool,
	t tensorfile.Tolerance) error {
	var models []*tensorfile.Model
	for _, p := range paths {
		m, err := tensorfile.Open(p, format)
		if err != nil {
			return err
		}
		defer m.Close()
		models = append(models, m)
	}
	list, err := tensorfile.Diff(models[0], models[1], t)
	if err != nil {
		return err
	}
	beyond := 0
	for _, d := range list {
		if d.Beyond {
			beyond++
		}
	}
	out := cmd.OutOrStdout()
	if asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		err = enc.Encode(append([]tensorfile.Difference{}, list...))
	} else {
		for _, d := range list {
			fmt.Fprintln(out, d)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s of %d and %d differ, %d beyond the tolerance\n",
			count(len(list), "tensor"), models[0].Len(), models[1].Len(), beyond)
	}
	if err == nil && beyond > 0 {
		err = errProblems
	}
	return err
}

// tensorsConvert is the command convert, or dequantize, which also dequantizes.
func tensorsConvert(dequantize bool) *cobra.Command {
	var format, to, out, typ string
	cmd := &cobra.Command{
		Use:   "convert file -o file",
		Short: "write tensors in another format",
		Long: "Convert writes the tensors of a file as safetensors, GGUF, npz, npy or pth (a state\n" +
			"dict of PyTorch), by the ending of the output or -to. Metadata is kept where the format has\n" +
			"any: of a GGUF file in others, as text, without arrays. Tensors of quantized types are\n" +
			"written to GGUF files only; see dequantize. The output replaces a file of the name when it\n" +
			"is whole.",
		Example: "  kiln tensors convert model.pth -o model.safetensors -dtype bf16",
		Args:    wanting(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := tensorfile.Options{Dequantize: dequantize}
			if typ != "" {
				d, err := dtype.Parse(typ)
				if err != nil || !d.IsFloat() {
					return usageError{fmt.Errorf("-dtype %s: want a floating-point type, such as f32 or bf16",
						typ)}
				}
				o.DType = d
			}
			return convertTensors(cmd, args[0], format, out, to, o)
		},
	}
	if dequantize {
		cmd.Use, cmd.Short = "dequantize file -o file", "write tensors of quantized types as numbers"
		cmd.Long = "Dequantize writes the tensors of a file as convert does, those of quantized types as\n" +
			"f32 or -dtype."
		cmd.Example = "  kiln tensors dequantize model.Q4_K_M.gguf -o model.safetensors -dtype f16"
	}
	formatFlag(cmd, &format)
	cmd.Flags().StringVarP(&out, "output", "o", "", "the `file` to write")
	cmd.Flags().StringVar(&to, "to", "",
		"the `format` to write, if the ending of the output does not say: "+
			strings.Join(tensorfile.Writable(), ", "))
	cmd.Flags().StringVar(&typ, "dtype", "", "the `type` of all floating-point tensors, such as bf16")
	_ = cmd.MarkFlagRequired("output")
	return cmd
}

func convertTensors(cmd *cobra.Command, in, format, out, to string, o tensorfile.Options) error {
	m, err := tensorfile.Open(in, format)
	if err != nil {
		return err
	}
	defer m.Close()
	wrote := int64(0)
	show, stop := byteProgress(cmd.ErrOrStderr(), sizeOf(m))
	o.Wrote = func(n int64) { wrote = n; show(n) }
	err = tensorfile.Write(out, to, m, o)
	stop()
	if err != nil {
		return hint(err, o)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s, %s\n", out, count(m.Len(), "tensor"), sizeText(wrote))
	return nil
}

// hint names the way out of a type that a format has not.
func hint(err error, o tensorfile.Options) error {
	var f *file.Error
	if !errors.As(err, &f) || !errors.Is(err, file.ErrUnsupported) || f.Tensor == "" {
		return err
	}
	if !o.Dequantize {
		return fmt.Errorf("%w (-dtype converts floats, 'kiln tensors dequantize' also quantized types)",
			err)
	}
	return fmt.Errorf("%w (-dtype converts floats)", err)
}

// byteProgress shows on a terminal how many bytes were written of about so many.
func byteProgress(stderr io.Writer, total int64) (show func(int64), stop func()) {
	if f, ok := stderr.(*os.File); !ok || !isTerminal(f) {
		return func(int64) {}, func() {}
	}
	p := mpb.New(mpb.WithOutput(stderr), mpb.WithWidth(40))
	bar := p.AddBar(total,
		mpb.PrependDecorators(decor.CountersKiloByte("% .1f of % .1f ")),
		mpb.AppendDecorators(decor.AverageETA(decor.ET_STYLE_GO)),
		mpb.BarRemoveOnComplete())
	return bar.SetCurrent, func() { bar.Abort(true); p.Wait() }
}
