"""Files of records: their posteriors, written block after block, or on a cluster."""

import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from noisyor.cli import options
from noisyor.cli.inputs import Source, check_files, expand_sources, local_files, read_network
from noisyor.cli.output import note, progress_bar, tell
from noisyor.cli.patient import DiagnosisOptions
from noisyor.cluster import connected
from noisyor.errors import ParameterError, some_of
from noisyor.gpu import check_device

if TYPE_CHECKING:
    import noisyor
    from noisyor.findings import ReadOptions
    from noisyor.findings.reading import RecordFormat
    from noisyor.inference.posterior_tables import MethodCounts


@dataclass(frozen=True)
class RecordFiles(DiagnosisOptions):
    """Files of records, whose posteriors are written block after block, or on a cluster."""

    records: list[str]
    covariates: Path | None
    output: Path
    reading: "ReadOptions"
    spreadsheet_safe: bool
    jobs: int
    device: str
    cluster: str | None

    def diagnose(self) -> None:
        """Write the posteriors, and say how many were found in which way."""
        from noisyor.findings.reading import RecordFormat
        from noisyor.inference.answers import make_request
        from noisyor.inference.posterior_tables import flagged_diseases

        form = RecordFormat(**self.reading)
        files = expand_sources(self.records)
        options.check_spreadsheet_safe(self.spreadsheet_safe, [self.output])
        make_request(**self.inference(0.1))
        check_device(self.device)
        if self.device != "cpu" and self.cluster is not None:
            raise ParameterError("--device is for one machine: leave it out, or --cluster.")
        write = self._on_this_machine if self.cluster is None else self._on_cluster
        network = read_network(self.network, self.seed)
        if network.causes.effects is not None:
            write = self._with_covariates
        elif self.covariates is not None:
            raise ParameterError(f"--covariates: {self.network} was not learned with covariates.")
        counts = write(network, files, form)
        _give_notice(counts)
        flagged = list(flagged_diseases(network))
        if flagged:
            note(
                f"{len(flagged):,} of {network.structure.n_diseases:,} diseases rest on parameters "
                f"that are flagged, and may be far off: {some_of(flagged)}."
            )
        facts = {
            "records": counts.n_records, "methods": counts.counts, "flagged": flagged,
            "output": str(self.output),
        }  # fmt: skip
        sentence = f"Diagnosed {counts.n_records:,} records ({counts}) into {self.output}"
        tell(sentence, facts, quiet=self.quiet, as_json=self.as_json)

    def _on_this_machine(
        self, network: "noisyor.NoisyOrNetwork", files: list[Source], form: "RecordFormat"
    ) -> "MethodCounts":
        from noisyor.findings.findings import open_records
        from noisyor.findings.reading import blocks_with_like_ids, total_records
        from noisyor.inference.answers import make_request
        from noisyor.inference.answers_on_card import card_for
        from noisyor.inference.posterior_tables import MethodCounts, PosteriorWriter
        from noisyor.io.tables import harmless, table_kind, write_batches

        output = self.output
        check_files([output], inputs=[self.network, *local_files(files)], tables=[output])
        counts = MethodCounts()
        streams = open_records(files, network.structure, form)
        blocks = blocks_with_like_ids(streams)
        first = list(itertools.islice(blocks, 1))
        ids = first[0].record_ids.type if first and first[0].record_ids is not None else None
        silent, n_records = self.quiet or self.as_json, total_records(streams)
        card = card_for(network, self.device, n_records, self.jobs or None)
        request = make_request(**self.inference(0.1))._replace(card=card)
        with progress_bar("diagnosing", n_records, silent) as advance:
            writer = PosteriorWriter(network, ids, self.top)
            batches = writer.batches(
                itertools.chain(first, blocks), counts, request, progress=advance,
                n_jobs=self.jobs or None,
            )  # fmt: skip
            schema = writer.schema
            if self.spreadsheet_safe:
                schema, batches = harmless(schema, batches)
            write_batches(output, schema, batches, table_kind(output))
        return counts

    def _with_covariates(
        self, network: "noisyor.NoisyOrNetwork", files: list[Source], form: "RecordFormat"
    ) -> "MethodCounts":
        """Diagnose records that are read into memory, with the covariates of their people."""
        from noisyor.findings.findings import read_findings
        from noisyor.inference.answers import make_request
        from noisyor.inference.posterior_tables import MethodCounts, PosteriorWriter
        from noisyor.io.tables import table_kind, write_batches
        from noisyor.network.design import design_rows

        if self.cluster is not None:
            raise ParameterError("networks with covariates diagnose on one machine only.")
        if self.covariates is None and len(files) > 1:
            raise ParameterError("--covariates: give a table of those of all records in all files.")
        effects = network.causes.effects
        assert effects is not None
        output = self.output
        check_files([output], inputs=[self.network, *local_files(files)], tables=[output])
        names = tuple(each.name for each in effects.covariates)
        findings = read_findings(files, network.structure, replace(form, passed_over=names))
        source = self.covariates or files[0]
        rows = design_rows(source, findings, effects, form.record)
        ids = findings.record_ids
        counts, silent = MethodCounts(), self.quiet or self.as_json
        with progress_bar("diagnosing", findings.n_records, silent) as advance:
            writer = PosteriorWriter(network, None if ids is None else ids.type, self.top)
            batches = writer.batches(
                iter(findings.blocks), counts, make_request(**self.inference(0.1)),
                progress=advance, n_jobs=self.jobs or None, rows=rows,
            )  # fmt: skip
            write_batches(output, writer.schema, batches, table_kind(output))
        return counts

    def _on_cluster(
        self, network: "noisyor.NoisyOrNetwork", files: list[Source], form: "RecordFormat"
    ) -> "MethodCounts":
        from noisyor.inference.posteriors_on_cluster import diagnose_on_cluster

        options.check_jobs(self.jobs, self.cluster)
        if self.output.suffix:
            raise ParameterError(
                f"--output {self.output}: on a cluster each worker writes files of its own; give a "
                "folder, without an ending."
            )
        bar = progress_bar("diagnosing", None, self.quiet or self.as_json)
        with connected(str(self.cluster)) as client, bar as advance:
            return diagnose_on_cluster(
                client, network, files, self.output, form, top=self.top, progress=advance,
                **self.inference(0.1),
            )  # fmt: skip


def _give_notice(counts: "MethodCounts") -> None:
    without = "and have no probabilities"
    if counts.n_impossible:
        note(f"{counts.n_impossible:,} records are impossible under the network, {without}.")
    if counts.n_refused:
        note(
            f"{counts.n_refused:,} records are too much work for exact inference, {without}; raise "
            "--budget, or leave --method to auto."
        )
