package experiment

import "dace.local/dacelib/stats"

// This file holds the numbers of the paper's tables, each with the line of the
// paper's source, dace.tex, that prints it. The paper's portfolios are in
// package portfolio: portfolio.Paper.

// A PaperMean is a cell of the paper's table of test results (Table III) or of
// its table of mixed dimensions (Appendix E, method "DACE mixed").
type PaperMean struct {
	// Class, Dim and Method say which entry of the table this is.
	Class  string
	Dim    int
	Method string
	// Mean and Std are over the test instances, as printed.
	Mean, Std float64
	// Best marks the largest mean of the row. AsGood marks the underlined
	// means, which do not differ significantly from it.
	Best, AsGood bool
	// Line is the line in the source of the paper.
	Line int
}

// A PaperWDL is an entry of the paper's table of wins, draws and losses of
// First against Method (Table IV; Appendix E where First is "DACE mixed").
type PaperWDL struct {
	// Class, Dim and Method say which entry of the table this is. WDL counts
	// the instances on which First is better than, as good as and worse than
	// Method.
	Class  string
	Dim    int
	First  string
	Method string
	WDL    stats.WDL
	// Line is the line in the source of the paper.
	Line int
}

// A PaperTime is an entry of the paper's table of construction times (Table
// II), in hours of wall-clock time and of processor time.
type PaperTime struct {
	// Method and Class say which entry of the table this is.
	Method, Class string
	// Wall and CPU are hours of wall-clock time and of processor time.
	Wall, CPU float64
	// Line is the line in the source of the paper.
	Line int
}

// A PaperLoss is a row of the paper's table of validation losses (Appendix D):
// those of the scorers of five instances, and the reconstruction loss.
type PaperLoss struct {
	// Class is the problem class.
	Class string
	// Scorers holds the losses of five scorers, Reconstruction the loss of the
	// decoder.
	Scorers        [5]float64
	Reconstruction float64
	// Line is the line in the source of the paper.
	Line int
}

// A PaperOneMax is a row of the paper's tables of the OneMax instances found
// for NIRs (Appendix F).
type PaperOneMax struct {
	// NIRs is "trained", "random" (random weights) or "generated" (random
	// embeddings).
	NIRs string
	// ID is the number of the NIR in the table, Target the target string of the
	// OneMax instance that is nearest to it.
	ID     int
	Target string
	// L1 and L2 are the distances of the two, as in nir.OneMaxMatch.
	L1, L2 float64
	// Line is the line in the source of the paper.
	Line int
}

// PaperMeans returns the paper's test results.
func PaperMeans() []PaperMean {
	return []PaperMean{
		{"cimp", 80, "DACE", 1.0722, 0.0971, true, false, 706},
		{"cimp", 80, "CEPS", 1.0621, 0.0870, false, false, 706},
		{"cimp", 80, "GLOBAL", 0.9162, 0.0822, false, false, 706},
		{"cimp", 80, "PARHYDRA", 0.9241, 0.0782, false, false, 706},
		{"cimp", 80, "BRKGA-PAP", 1.0587, 0.0885, false, false, 706},
		{"cimp", 100, "DACE", 1.0833, 0.0663, true, false, 707},
		{"cimp", 100, "CEPS", 1.0804, 0.0720, false, true, 707},
		{"cimp", 100, "GLOBAL", 0.9311, 0.0477, false, false, 707},
		{"cimp", 100, "PARHYDRA", 0.9357, 0.0471, false, false, 707},
		{"cimp", 100, "BRKGA-PAP", 1.0724, 0.0578, false, false, 707},
		{"caop", 80, "DACE", 1.0002, 0.0017, true, false, 709},
		{"caop", 80, "CEPS", 0.9994, 0.0016, false, false, 709},
		{"caop", 80, "GLOBAL", 0.9903, 0.0072, false, false, 709},
		{"caop", 80, "PARHYDRA", 0.9959, 0.0041, false, false, 709},
		{"caop", 80, "BRKGA-PAP", 1.0000, 0.0014, false, false, 709},
		{"caop", 80, "SMARTEST-PAP", 0.9989, 0.0016, false, false, 709},
		{"caop", 100, "DACE", 1.0019, 0.0026, true, false, 710},
		{"caop", 100, "CEPS", 0.9996, 0.0022, false, false, 710},
		{"caop", 100, "GLOBAL", 0.9848, 0.0087, false, false, 710},
		{"caop", 100, "PARHYDRA", 0.9926, 0.0050, false, false, 710},
		{"caop", 100, "BRKGA-PAP", 1.0010, 0.0021, false, false, 710},
		{"caop", 100, "SMARTEST-PAP", 0.9997, 0.0023, false, false, 710},
		{"ccp", 30, "DACE", 1.0523, 0.0267, true, false, 712},
		{"ccp", 30, "CEPS", 1.0395, 0.0256, false, false, 712},
		{"ccp", 30, "GLOBAL", 0.9001, 0.0219, false, false, 712},
		{"ccp", 30, "PARHYDRA", 0.9249, 0.0215, false, false, 712},
		{"ccp", 30, "BRKGA-PAP", 1.0349, 0.0253, false, false, 712},
		{"ccp", 40, "DACE", 1.0777, 0.0249, true, false, 713},
		{"ccp", 40, "CEPS", 1.0640, 0.0229, false, false, 713},
		{"ccp", 40, "GLOBAL", 0.8942, 0.0196, false, false, 713},
		{"ccp", 40, "PARHYDRA", 0.9231, 0.0206, false, false, 713},
		{"ccp", 40, "BRKGA-PAP", 1.0479, 0.0228, false, false, 713},
		{"ccp", 30, "DACE mixed", 1.0515, 0.0262, false, true, 1108},
		{"ccp", 40, "DACE mixed", 1.0823, 0.0252, true, false, 1110},
	}
}

// PaperWDLs returns the paper's wins, draws and losses.
func PaperWDLs() []PaperWDL {
	return []PaperWDL{
		{"cimp", 80, "DACE", "CEPS", stats.WDL{Win: 9, Draw: 38, Loss: 3}, 756},
		{"cimp", 80, "DACE", "GLOBAL", stats.WDL{Win: 50, Draw: 0, Loss: 0}, 756},
		{"cimp", 80, "DACE", "PARHYDRA", stats.WDL{Win: 50, Draw: 0, Loss: 0}, 756},
		{"cimp", 80, "DACE", "BRKGA-PAP", stats.WDL{Win: 26, Draw: 23, Loss: 1}, 756},
		{"cimp", 100, "DACE", "CEPS", stats.WDL{Win: 11, Draw: 32, Loss: 7}, 757},
		{"cimp", 100, "DACE", "GLOBAL", stats.WDL{Win: 50, Draw: 0, Loss: 0}, 757},
		{"cimp", 100, "DACE", "PARHYDRA", stats.WDL{Win: 50, Draw: 0, Loss: 0}, 757},
		{"cimp", 100, "DACE", "BRKGA-PAP", stats.WDL{Win: 19, Draw: 31, Loss: 0}, 757},
		{"caop", 80, "DACE", "CEPS", stats.WDL{Win: 10, Draw: 40, Loss: 0}, 759},
		{"caop", 80, "DACE", "GLOBAL", stats.WDL{Win: 44, Draw: 6, Loss: 0}, 759},
		{"caop", 80, "DACE", "PARHYDRA", stats.WDL{Win: 34, Draw: 16, Loss: 0}, 759},
		{"caop", 80, "DACE", "BRKGA-PAP", stats.WDL{Win: 4, Draw: 46, Loss: 0}, 759},
		{"caop", 80, "DACE", "SMARTEST-PAP", stats.WDL{Win: 14, Draw: 36, Loss: 0}, 759},
		{"caop", 100, "DACE", "CEPS", stats.WDL{Win: 31, Draw: 19, Loss: 0}, 760},
		{"caop", 100, "DACE", "GLOBAL", stats.WDL{Win: 48, Draw: 2, Loss: 0}, 760},
		{"caop", 100, "DACE", "PARHYDRA", stats.WDL{Win: 46, Draw: 4, Loss: 0}, 760},
		{"caop", 100, "DACE", "BRKGA-PAP", stats.WDL{Win: 16, Draw: 34, Loss: 0}, 760},
		{"caop", 100, "DACE", "SMARTEST-PAP", stats.WDL{Win: 26, Draw: 24, Loss: 0}, 760},
		{"ccp", 30, "DACE", "CEPS", stats.WDL{Win: 36, Draw: 14, Loss: 0}, 762},
		{"ccp", 30, "DACE", "GLOBAL", stats.WDL{Win: 50, Draw: 0, Loss: 0}, 762},
		{"ccp", 30, "DACE", "PARHYDRA", stats.WDL{Win: 50, Draw: 0, Loss: 0}, 762},
		{"ccp", 30, "DACE", "BRKGA-PAP", stats.WDL{Win: 43, Draw: 7, Loss: 0}, 762},
		{"ccp", 40, "DACE", "CEPS", stats.WDL{Win: 30, Draw: 20, Loss: 0}, 763},
		{"ccp", 40, "DACE", "GLOBAL", stats.WDL{Win: 50, Draw: 0, Loss: 0}, 763},
		{"ccp", 40, "DACE", "PARHYDRA", stats.WDL{Win: 50, Draw: 0, Loss: 0}, 763},
		{"ccp", 40, "DACE", "BRKGA-PAP", stats.WDL{Win: 48, Draw: 2, Loss: 0}, 763},
		{"ccp", 30, "DACE mixed", "DACE", stats.WDL{Win: 3, Draw: 43, Loss: 4}, 1125},
		{"ccp", 30, "DACE mixed", "CEPS", stats.WDL{Win: 11, Draw: 39, Loss: 0}, 1125},
		{"ccp", 30, "DACE mixed", "GLOBAL", stats.WDL{Win: 50, Draw: 0, Loss: 0}, 1125},
		{"ccp", 30, "DACE mixed", "PARHYDRA", stats.WDL{Win: 50, Draw: 0, Loss: 0}, 1125},
		{"ccp", 30, "DACE mixed", "BRKGA-PAP", stats.WDL{Win: 23, Draw: 27, Loss: 0}, 1125},
		{"ccp", 40, "DACE mixed", "DACE", stats.WDL{Win: 6, Draw: 41, Loss: 3}, 1127},
		{"ccp", 40, "DACE mixed", "CEPS", stats.WDL{Win: 20, Draw: 30, Loss: 0}, 1127},
		{"ccp", 40, "DACE mixed", "GLOBAL", stats.WDL{Win: 50, Draw: 0, Loss: 0}, 1127},
		{"ccp", 40, "DACE mixed", "PARHYDRA", stats.WDL{Win: 50, Draw: 0, Loss: 0}, 1127},
		{"ccp", 40, "DACE mixed", "BRKGA-PAP", stats.WDL{Win: 35, Draw: 15, Loss: 0}, 1127},
	}
}

// PaperTimes returns the paper's construction times.
func PaperTimes() []PaperTime {
	return []PaperTime{
		{"DACE", "ccp", 7, 220, 678},
		{"DACE", "caop", 5.4, 173, 678},
		{"DACE", "cimp", 5.5, 176, 678},
		{"CEPS", "ccp", 0.7, 84, 681},
		{"CEPS", "caop", 17.4, 3640, 681},
		{"CEPS", "cimp", 67.4, 21450, 681},
		{"GLOBAL", "ccp", 15.5, 3280, 684},
		{"GLOBAL", "caop", 26.5, 8155.4, 684},
		{"GLOBAL", "cimp", 27, 11440, 684},
		{"PARHYDRA", "ccp", 14.7, 3030, 687},
		{"PARHYDRA", "caop", 22.9, 6955, 687},
		{"PARHYDRA", "cimp", 22, 8534, 687},
	}
}

// PaperLosses returns the paper's validation losses.
func PaperLosses() []PaperLoss {
	return []PaperLoss{
		{"cimp", [5]float64{3.70e-4, 6.32e-4, 3.29e-4, 7.42e-4, 2.97e-4}, 0.0249, 1155},
		{"caop", [5]float64{1.96e-4, 2.26e-4, 1.64e-4, 9.61e-4, 8.35e-4}, 0.0253, 1157},
		{"ccp", [5]float64{4.94e-4, 5.80e-4, 6.75e-4, 6.30e-4, 4.90e-4}, 0.0074, 1159},
	}
}

// PaperOneMaxes returns the rows of the paper's tables of OneMax instances.
func PaperOneMaxes() []PaperOneMax {
	return []PaperOneMax{
		{"trained", 1, "101011000101101111100011010111", 4.9e-5, 4.1e-5, 1231},
		{"trained", 2, "100111001001101100011111001000", 3.9e-5, 2.9e-5, 1234},
		{"trained", 3, "011110100101110000000011001010", 4.6e-5, 2.3e-5, 1237},
		{"trained", 4, "101010001001110011000010111110", 2.5e-5, 2.6e-5, 1240},
		{"trained", 5, "000101000000000101010110001010", 3.4e-5, 3.9e-5, 1243},
		{"random", 1, "011100001001101110011001011110", 1.2e-2, 1.1e-2, 1261},
		{"random", 2, "111101011100111100000101110011", 9.4e-3, 9.3e-3, 1262},
		{"random", 3, "100100100001011010001000001001", 1e-2, 1e-2, 1263},
		{"random", 4, "010100101011110011101110111011", 1.1e-2, 1e-2, 1264},
		{"random", 5, "010101111101010100000011111100", 1.5e-2, 2.1e-2, 1265},
		{"random", 6, "111100011001010110000001110010", 1.1e-2, 1.2e-2, 1266},
		{"random", 7, "011001010011010101001101011110", 1e-2, 9e-3, 1267},
		{"random", 8, "110101111100111001110100110001", 9.9e-3, 1.4e-2, 1268},
		{"random", 9, "110100110001010111110111101110", 1.2e-2, 1.3e-2, 1269},
		{"random", 10, "110101001011001101011101111010", 1.3e-2, 1.2e-2, 1270},
		{"generated", 1, "110111001001101100011111001000", 3.8e-3, 3.6e-3, 1295},
		{"generated", 2, "101011000101101111100011010111", 2.1e-3, 2.0e-3, 1296},
		{"generated", 3, "011110100101110000000011001010", 2.6e-3, 2.9e-3, 1297},
		{"generated", 4, "000111000001100101010111001010", 4.3e-3, 3.1e-3, 1298},
		{"generated", 5, "011110100101110000000011001010", 4.5e-4, 2.7e-4, 1299},
		{"generated", 6, "101010001001110011000010111110", 2.0e-3, 1.5e-3, 1300},
		{"generated", 7, "101011000101101111100011010111", 3.4e-3, 3.4e-3, 1301},
		{"generated", 8, "101010001001110011000010011110", 3.3e-3, 3.2e-3, 1302},
		{"generated", 9, "111010100101111011100011010111", 4.1e-3, 4.1e-3, 1303},
		{"generated", 10, "011110100101110000000011001010", 5.7e-5, 1.4e-4, 1304},
		{"generated", 11, "101011000101101111100011010111", 1.4e-3, 1.4e-3, 1305},
		{"generated", 12, "101111000001100101000011001010", 5.3e-3, 4.6e-3, 1306},
		{"generated", 13, "011110100101110000000011001010", 2.0e-3, 1.6e-3, 1307},
		{"generated", 14, "000101000000001101010111001010", 4.4e-3, 4.1e-3, 1308},
		{"generated", 15, "100111001001101100011111001000", 1.5e-3, 1.4e-3, 1309},
	}
}
