extension PlanPage {
  static let style = """
    :root{--bg:#fff;--fg:#1d2127;--soft:#5c6570;--line:#dde1e6;--card:#f5f7f9;--ne:#1f6feb;\
    --gpu:#8250df;--cpu:#bc4c00;--matrix:#2f6fd0;--elements:#2c9a6b;--reduction:#c98a12;\
    --layout:#8a6fc9;--other:#7d8790;--change:#d1343f;--over:#8a929b}
    @media (prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e4e8ec;--soft:#9aa4af;\
    --line:#333a42;--card:#1d2228;--ne:#6cb0ff;--gpu:#c3a0ff;--cpu:#ffa266;--matrix:#5a97ee;\
    --elements:#4cbd8d;--reduction:#e2ad45;--layout:#ab93e6;--other:#8e98a2;--change:#f0616b;\
    --over:#8e98a2}}
    *{box-sizing:border-box}
    body{margin:0 auto;padding:24px 28px 40px;max-width:1360px;background:var(--bg);\
    color:var(--fg);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
    h1{font-size:28px;line-height:1.2;margin:0;overflow-wrap:anywhere}
    h2{font-size:18px;margin:0 0 4px}
    section{margin:32px 0 0;min-width:0}
    p{margin:0}
    .path,.note,footer,small,dt{color:var(--soft)}
    .path{overflow-wrap:anywhere;font-size:13px}
    .note{font-size:13px;margin:0 0 10px;max-width:90ch}
    .facts{display:flex;flex-wrap:wrap;gap:6px 28px;margin:14px 0 0}
    .facts div{display:flex;gap:8px}
    dd{margin:0;font-weight:600}
    #summary{margin-top:20px}
    .cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(160px,1fr));gap:12px}
    .card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 14px;\
    display:flex;flex-direction:column}
    .card span{font-size:13px;color:var(--soft)}
    .card strong{font-size:24px;line-height:1.3}
    .card small{font-size:12px}
    .shares{display:flex;height:12px;border-radius:6px;overflow:hidden;margin:16px 0 6px;\
    background:var(--line)}
    .shares i{display:block;min-width:2px}
    .legend{display:flex;flex-wrap:wrap;gap:2px 18px;font-size:13px;color:var(--soft);\
    margin-top:8px}
    .legend i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px}
    .u-ne{background:var(--ne)}.u-gpu{background:var(--gpu)}.u-cpu{background:var(--cpu)}
    .u-ne-text{color:var(--ne)}.u-gpu-text{color:var(--gpu)}.u-cpu-text{color:var(--cpu)}
    .f-matrix{background:var(--matrix);fill:var(--matrix)}
    .f-elements{background:var(--elements);fill:var(--elements)}
    .f-reduction{background:var(--reduction);fill:var(--reduction)}
    .f-layout{background:var(--layout);fill:var(--layout)}
    .f-other{background:var(--other);fill:var(--other)}
    .change{background:var(--change);fill:var(--change)}
    svg .change{opacity:.45}
    .timeline{display:flex;gap:10px}
    .lanes{display:flex;flex-direction:column;font-size:13px;font-weight:600}
    .lanes span{flex:1;display:flex;align-items:center;white-space:nowrap}
    .track{flex:1;min-width:0}
    .track svg{display:block;width:100%;background:var(--card);border-radius:6px}
    .track .edge{stroke:var(--card);stroke-width:1;vector-effect:non-scaling-stroke}
    .u-ne-fill{fill:var(--ne)}.u-gpu-fill{fill:var(--gpu)}.u-cpu-fill{fill:var(--cpu)}
    .track rect:hover,circle:hover{stroke:var(--fg);stroke-width:2;vector-effect:non-scaling-stroke}
    .ticks{position:relative;height:20px;font-size:12px;color:var(--soft)}
    .ticks span{position:absolute;padding-left:4px;border-left:1px solid var(--line);\
    white-space:nowrap;line-height:18px}
    .ticks .last{transform:translateX(-100%);padding:0 4px 0 0;border-left:0;\
    border-right:1px solid var(--line)}
    .pair{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:0 36px}
    .bars{list-style:none;margin:10px 0 0;padding:0;font-size:13px}
    .bars li{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:0 12px;margin:0 0 7px}
    .bars div{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
    .bars b{font-weight:600}
    .bars em{grid-column:1/-1;background:var(--card);border-radius:3px}
    .bars i{display:block;height:7px;border-radius:3px;min-width:2px}
    .plot{display:block;width:100%;height:auto}
    .plot text{font-size:13px;fill:var(--soft)}
    .plot .mark{fill:var(--fg);font-weight:600}
    .grid{stroke:var(--line);fill:none;vector-effect:non-scaling-stroke}
    .roof{fill:none;stroke:var(--fg);stroke-width:2}
    .memory{fill:var(--matrix);fill-opacity:.3;stroke:var(--matrix)}
    .peak{fill:var(--change)}
    circle{stroke:var(--bg);stroke-width:1}
    .b-compute{fill:var(--matrix);background:var(--matrix)}
    .b-memory{fill:var(--reduction);background:var(--reduction)}
    .b-overhead,.b-unknown{fill:var(--over);background:var(--over)}
    .advice{list-style:none;margin:0;padding:0}
    .advice li{display:flex;gap:14px;padding:9px 0;border-top:1px solid var(--line)}
    .advice strong{flex:0 0 66px;text-align:right}
    .advice div{min-width:0}
    .hint::before{content:"→ ";color:var(--soft)}
    .names{font-size:13px;color:var(--soft);overflow-wrap:anywhere}
    .c{display:inline-block;font-size:11px;font-weight:700;line-height:16px;padding:0 5px;\
    border:1px solid var(--line);border-radius:4px;color:var(--soft)}
    .c-A,.c-M{color:var(--elements);border-color:var(--elements)}
    .scroll{overflow-x:auto}
    table{border-collapse:collapse;width:100%;font-size:13px}
    th,td{text-align:left;padding:4px 10px 4px 0;border-bottom:1px solid var(--line);\
    vertical-align:top;white-space:nowrap}
    th{font-weight:600;color:var(--soft)}
    .n{text-align:right;font-variant-numeric:tabular-nums}
    td.name{white-space:normal;overflow-wrap:anywhere;min-width:150px}
    td.why{white-space:normal;min-width:340px}
    th button{all:unset;cursor:pointer}
    th button:focus-visible{outline:2px solid var(--ne)}
    th[aria-sort=ascending] button::after{content:" ▲"}
    th[aria-sort=descending] button::after{content:" ▼"}
    footer{margin-top:36px;font-size:13px;border-top:1px solid var(--line);padding-top:12px}
    @media (max-width:760px){body{padding:16px 14px 32px}.pair{grid-template-columns:1fr}\
    h1{font-size:23px}.plot text{font-size:20px}\
    .cards{grid-template-columns:repeat(2,minmax(0,1fr));gap:8px}.card{padding:8px 10px}\
    .card strong{font-size:20px}.timeline{display:block}.lanes{height:auto!important;\
    flex-direction:row;flex-wrap:wrap;gap:0 14px}.lanes span{flex:none}}
    @media print{:root{--bg:#fff;--fg:#000;--soft:#444;--card:#f5f7f9;--line:#ccc}\
    body{max-width:none;padding:0;font-size:11px;print-color-adjust:exact;\
    -webkit-print-color-adjust:exact}section{break-inside:avoid}#operations{break-inside:auto}\
    tr{break-inside:avoid}.scroll{overflow:visible}td,th{white-space:normal;padding-right:6px}\
    table{font-size:9px}}
    """

  /// Sorts the table of operations by the column whose title is pressed.
  static let script = """
    for(const table of document.querySelectorAll("table.sortable")){
      table.querySelectorAll("th").forEach((th,column)=>{
        const button=document.createElement("button");
        button.textContent=th.textContent;th.replaceChildren(button);
        button.onclick=()=>{
          const numeric=th.classList.contains("n"),up=th.ariaSort==="descending"||!th.ariaSort&&!numeric;
          const key=row=>{const cell=row.cells[column];return numeric?+(cell.dataset.v??cell.textContent):cell.textContent};
          const rows=[...table.tBodies[0].rows].map(row=>[key(row),row]);
          rows.sort((a,b)=>(a[0]<b[0]?-1:a[0]>b[0]?1:0)*(up?1:-1));
          table.querySelectorAll("th").forEach(other=>other.removeAttribute("aria-sort"));
          th.ariaSort=up?"ascending":"descending";
          table.tBodies[0].replaceChildren(...rows.map(row=>row[1]));
        };
      });
    }
    """
}
