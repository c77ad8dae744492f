package construct

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"dace.local/dacelib/files"
	"dace.local/dacelib/smac"
)

// packTrials encodes the trials of a run of SMAC as one gzip member that holds
// columns. If whole is false, for races of millions of trials, it keeps only
// the configurations that ran on the most instances; it keeps the instance,
// origin and cost of every trial in either case.
func packTrials(trials []smac.Trial, whole bool) ([]byte, error) {
	var (
		index    = map[string]int{} // configuration to index, from 0
		configs  [][]float64
		of       = make([]int, len(trials))
		instance = make([]float64, len(trials))
		origin   = make([]float64, len(trials))
		cost     = make([]float64, len(trials))
		times    []int
	)
	params := 0
	for i, t := range trials {
		key := fmt.Sprint(t.Config)
		c, ok := index[key]
		if !ok {
			c = len(configs)
			index[key] = c
			configs, times = append(configs, t.Config), append(times, 0)
			params = len(t.Config)
		}
		of[i] = c
		times[c]++
		instance[i], origin[i], cost[i] = float64(t.Instance), originNumber(t.Origin), t.Cost
	}
	most := 0
	for _, n := range times {
		most = max(most, n)
	}
	place := make([]int, len(configs)) // index among those kept, from 1; 0: left out
	var kept [][]float64
	for c, config := range configs {
		if whole || times[c] == most {
			kept = append(kept, config)
			place[c] = len(kept)
		}
	}
	at := make([]float64, len(trials))
	for i, c := range of {
		at[i] = float64(place[c])
	}
	b := []byte{trialsVersion}
	for _, n := range []int{len(trials), params, len(kept)} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	for _, column := range [][]float64{instance, origin, cost, at} {
		b = packColumn(b, column)
	}
	column := make([]float64, len(kept))
	for k := range params {
		for i, c := range kept {
			column[i] = c[k]
		}
		b = packColumn(b, column)
	}
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(b); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

const trialsVersion = 1

// packColumn appends the distinct values in the order in which they first
// appear, then for each value its index among them.
func packColumn(b []byte, v []float64) []byte {
	number := map[uint64]int{}
	var distinct []byte
	var numbers []byte
	for _, x := range v {
		bits := math.Float64bits(x)
		n, ok := number[bits]
		if !ok {
			n = len(number)
			number[bits] = n
			distinct = binary.LittleEndian.AppendUint64(distinct, bits)
		}
		// Indices are relative to the newest value: 0 for a new one.
		next := len(number)
		if !ok {
			numbers = binary.AppendUvarint(numbers, 0)
		} else {
			numbers = binary.AppendUvarint(numbers, uint64(next-n))
		}
	}
	b = binary.AppendUvarint(b, uint64(len(number)))
	// Group the bytes of equal significance: whole numbers, and values of one
	// range, share most of theirs.
	for k := range 8 {
		for i := k; i < len(distinct); i += 8 {
			b = append(b, distinct[i])
		}
	}
	return append(b, numbers...)
}

var errTrials = errors.New("the trials are damaged")

// unpackTrials decodes the output of packTrials. A trial whose configuration
// was left out has a nil Config.
func unpackTrials(packed []byte) ([]smac.Trial, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(files.Reader(z, 2), 1<<30))
	if err != nil {
		return nil, err
	}
	if len(b) == 0 || b[0] != trialsVersion {
		return nil, errTrials
	}
	r := bytes.NewReader(b[1:])
	var n, params, kept int
	for _, p := range []*int{&n, &params, &kept} {
		if *p, err = readCount(r); err != nil {
			return nil, err
		}
	}
	// Every trial and every configuration takes at least a byte.
	if n > len(b) || kept > n || params > 1<<10 {
		return nil, errTrials
	}
	var columns [4][]float64
	for k := range columns {
		if columns[k], err = unpackColumn(r, n); err != nil {
			return nil, err
		}
	}
	configs := make([][]float64, kept)
	for k := range params {
		column, err := unpackColumn(r, kept)
		if err != nil {
			return nil, err
		}
		for i, v := range column {
			if k == 0 {
				configs[i] = make([]float64, params)
			}
			configs[i][k] = v
		}
	}
	trials := make([]smac.Trial, n)
	for i := range trials {
		trials[i] = smac.Trial{Instance: int(columns[0][i]), Origin: originOf(columns[1][i]), Cost: columns[2][i]}
		switch at := int(columns[3][i]); {
		case at < 0 || at > kept:
			return nil, errTrials
		case at > 0:
			trials[i].Config = configs[at-1]
		}
	}
	return trials, nil
}

func readCount(r *bytes.Reader) (int, error) {
	v, err := binary.ReadUvarint(r)
	if err != nil || v > 1<<30 {
		return 0, errTrials
	}
	return int(v), nil
}

func unpackColumn(r *bytes.Reader, n int) ([]float64, error) {
	d, err := readCount(r)
	if err != nil || d > n || d*8 > r.Len() {
		return nil, errTrials
	}
	bits := make([]uint64, d)
	for k := range 8 {
		for i := range bits {
			c, err := r.ReadByte()
			if err != nil {
				return nil, errTrials
			}
			bits[i] |= uint64(c) << (8 * k)
		}
	}
	out := make([]float64, n)
	met := 0
	for i := range out {
		back, err := readCount(r)
		if err != nil {
			return nil, err
		}
		at := met - back
		if back == 0 {
			at = met
			met++
		}
		if at < 0 || at >= d {
			return nil, errTrials
		}
		out[i] = math.Float64frombits(bits[at])
	}
	return out, nil
}

// origins returns the origins in the order of their numbers in the record.
func origins() []smac.Origin {
	return []smac.Origin{smac.FromDefault, smac.FromRandom, smac.FromModel}
}

func originNumber(o smac.Origin) float64 {
	for i, v := range origins() {
		if v == o {
			return float64(i)
		}
	}
	return -1
}

func originOf(v float64) smac.Origin {
	if o := origins(); v >= 0 && int(v) < len(o) {
		return o[int(v)]
	}
	return ""
}
