// The calls, imports and definitions of JavaScript and TypeScript, by TypeScript's own parser.
// Reads names of files, one a line, and writes one JSON object a line.
const fs = require("fs");
const ts = require("typescript");

const kinds = { ".js": ts.ScriptKind.JS, ".jsx": ts.ScriptKind.JSX, ".tsx": ts.ScriptKind.TSX };

// The name that stands for an expression: c of a.b.c.
function last(node) {
  for (;;) {
    if (ts.isPropertyAccessExpression(node)) node = node.name;
    else if (ts.isNonNullExpression(node) || ts.isParenthesizedExpression(node) || ts.isExpressionWithTypeArguments(node)) node = node.expression;
    else return ts.isIdentifier(node) || ts.isPrivateIdentifier(node) ? node : null;
  }
}

// Whether another file gives it: require("x"), and require("x").y.
function isRequire(node) {
  while (node && (ts.isAwaitExpression(node) || ts.isPropertyAccessExpression(node))) node = node.expression;
  if (!node || !ts.isCallExpression(node)) return false;
  return node.expression.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(node.expression) && node.expression.text === "require");
}

function of(path) {
  const text = fs.readFileSync(path, "utf8");
  const kind = kinds[path.slice(path.lastIndexOf("."))] ?? ts.ScriptKind.TS;
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, kind);
  const found = { calls: [], imports: [], definitions: [], lines: [] };
  const add = (which, node) => {
    if (!node) return;
    const at = file.getLineAndCharacterOfPosition(node.getStart(file));
    found[which].push([at.line + 1, at.character + 1]);
  };
  const names = (which, node) => {
    if (ts.isIdentifier(node) || ts.isStringLiteral(node)) add(which, node);
    ts.forEachChild(node, (child) => names(which, child));
  };
  const visit = (node) => {
    if (ts.isImportDeclaration(node) || ts.isImportEqualsDeclaration(node) || (ts.isExportDeclaration(node) && node.moduleSpecifier)) {
      names("imports", node);
      found.lines.push([node.getStart(file), node.end].map((at) => file.getLineAndCharacterOfPosition(at).line + 1));
      return;
    }
    if (ts.isCallExpression(node) || ts.isNewExpression(node) || ts.isDecorator(node)) add("calls", last(node.expression));
    else if (ts.isTaggedTemplateExpression(node)) add("calls", last(node.tag));
    else if (ts.isJsxOpeningElement(node) || ts.isJsxSelfClosingElement(node)) add("calls", last(node.tagName));
    if (ts.isVariableDeclaration(node) && isRequire(node.initializer)) {
      const bind = (name) => {
        if (ts.isIdentifier(name)) add("imports", name);
        else for (const element of name.elements) if (ts.isBindingElement(element)) bind(element.name);
      };
      bind(node.name);
    }
    // What tsserver takes for declarations: `exports.name = ...`, `this.name = ...` and `X.prototype.name = ...`.
    if (ts.isBinaryExpression(node) && [1, 3, 4].includes(ts.getAssignmentDeclarationKind(node))) add("definitions", last(node.left));
    const isName = node.name && (ts.isIdentifier(node.name) || ts.isPrivateIdentifier(node.name));
    const isDeclaration = ts.isFunctionLike(node) || ts.isClassLike(node) || ts.isVariableDeclaration(node) || ts.isParameter(node)
      || ts.isBindingElement(node) || ts.isPropertyAssignment(node) || ts.isPropertyDeclaration(node) || ts.isPropertySignature(node)
      || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isEnumDeclaration(node) || ts.isEnumMember(node)
      || ts.isModuleDeclaration(node) || ts.isTypeParameterDeclaration(node);
    if (isName && isDeclaration) add("definitions", node.name);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

for (const path of fs.readFileSync(0, "utf8").split("\n")) process.stdout.write(JSON.stringify(of(path)) + "\n");
